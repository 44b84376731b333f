// Huffman codes for a text: a heap of nodes in static arrays, bits in bytes, and back again.
#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MOST 512
typedef struct node {
    uint32_t weight;
    int16_t left, right;
    uint8_t byte;
} node;
static node nodes[MOST];
static int node_count, heap[256], heap_size;
static char codes[256][40];

static void swap(int *a, int *b)
{
    int t = *a;
    *a = *b, *b = t;
}
static int less(int a, int b)
{
    return nodes[a].weight != nodes[b].weight ? nodes[a].weight < nodes[b].weight : a < b;
}
static void heap_push(int n)
{
    int i = heap_size++;
    heap[i] = n;
    while (i && less(heap[i], heap[(i - 1) / 2]))
        swap(&heap[i], &heap[(i - 1) / 2]), i = (i - 1) / 2;
}
static int heap_pop(void)
{
    int top = heap[0], i = 0;
    heap[0] = heap[--heap_size];
    for (;;) {
        int child = 2 * i + 1;
        if (child >= heap_size)
            return top;
        child += child + 1 < heap_size && less(heap[child + 1], heap[child]);
        if (!less(heap[child], heap[i]))
            return top;
        swap(&heap[child], &heap[i]);
        i = child;
    }
}
static void name(int n, char *code, int length)
{
    if (nodes[n].left < 0) {
        code[length] = 0;
        strcpy(codes[nodes[n].byte], code);
        return;
    }
    code[length] = '0', name(nodes[n].left, code, length + 1);
    code[length] = '1', name(nodes[n].right, code, length + 1);
}

int main(void)
{
    static char text[1500], back[1500];
    static uint8_t packed[1500];
    uint32_t weights[256] = {0};
    size_t length = fread(text, 1, sizeof text, stdin), bits = 0;
    for (size_t i = 0; i < length; i++)
        weights[(uint8_t)text[i]]++;
    for (int b = 0; b < 256; b++)
        if (weights[b]) {
            nodes[node_count] = (node){weights[b], -1, -1, (uint8_t)b};
            heap_push(node_count++);
        }
    while (heap_size > 1) {
        int a = heap_pop(), b = heap_pop();
        nodes[node_count] = (node){
            .weight = nodes[a].weight + nodes[b].weight, .left = (int16_t)a, .right = (int16_t)b};
        heap_push(node_count++);
    }
    int root = heap_pop();
    char code[40];
    name(root, code, 0);
    for (size_t i = 0; i < length; i++)
        for (const char *c = codes[(uint8_t)text[i]]; *c; c++, bits++)
            packed[bits / CHAR_BIT] |= (uint8_t)((*c - '0') << bits % CHAR_BIT);
    size_t at = 0, out = 0;
    while (at < bits) {
        int n = root;
        do
            n = packed[at / 8] >> at % 8 & 1 ? nodes[n].right : nodes[n].left, at++;
        while (nodes[n].left >= 0);
        back[out++] = (char)nodes[n].byte;
    }
    assert(out == length && !memcmp(text, back, length));
    unsigned long sum = 0;
    for (size_t i = 0; i <= bits / 8; i++)
        sum = sum * 131 + packed[i];
    printf("%zu bytes, %zu bits, %d nodes, sum %lx\n", length, bits, node_count, sum);
    for (const char *c = "e t\nq"; *c; c++)
        printf("%#x %s\n", *c, codes[(int)*c]);
}
