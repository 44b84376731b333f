// K6216: a node is read after it was freed: the loop takes its next one from it.
#include <stdlib.h>

#include <kiln/kernel.h>

typedef struct node {
    u32 value;
    struct node *next;
} node;

//! run sum grid=1 block=4 (u32[4])
kernel void sum(u32 *out)
{
    node *first = NULL;
    for (u32 k = 0; k < 3; k++) {
        node *made = malloc(sizeof *made);
        if (!made)
            return;
        made->value = k + thread_x();
        made->next = first;
        first = made;
    }
    u32 total = 0;
    for (node *at = first; at; at = at->next) {
        total += at->value;
        free(at);
    }
    out[thread_x()] = total;
}
