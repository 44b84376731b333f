// malloc and its family in kernels, against the host's own: results that do not depend on
// addresses.
#include <stdlib.h>
#include <string.h>

#include <kiln/kernel.h>

typedef struct leaf {
    i32 key;
    struct leaf *less, *more;
} leaf;

//! run heap_tree grid=2 block=48 (i32[96], u32[96], i32[96])
kernel void heap_tree(const i32 *keys, u32 *found, i32 *sum)
{
    u32 i = global_x();
    leaf *root = NULL;
    for (u32 k = 0; k < 12; k++) {
        leaf **at = &root;
        i32 key = (keys[(i + k * 7) % 96] ^ (i32)(i * 5)) & 31;
        while (*at && (*at)->key != key)
            at = key < (*at)->key ? &(*at)->less : &(*at)->more;
        if (!*at) {
            *at = calloc(1, sizeof **at);
            if (*at)
                (*at)->key = key;
        }
    }
    // Out of the tree from the left: what has a left child is turned round.
    u32 count = 0;
    i32 mixed = 0;
    while (root) {
        leaf *less = root->less;
        if (less) {
            root->less = less->more;
            less->more = root;
            root = less;
        } else {
            leaf *more = root->more;
            mixed = mixed * 7 + root->key;
            count++;
            free(root);
            root = more;
        }
    }
    found[i] = count;
    sum[i] = mixed;
}

//! run heap_grow block=70 (u32[70], u64[70])
kernel void heap_grow(u32 *lengths, u64 *sums)
{
    u32 i = thread_x(), cap = 0, count = 0;
    u8 *bytes = NULL;
    for (u32 k = 0; k < i * 9; k++) {
        if (count == cap) {
            cap = cap ? cap * 2 : 3;
            bytes = realloc(bytes, cap);
            if (!bytes)
                return;
        }
        bytes[count++] = (u8)(k * 31 + i);
    }
    bytes = realloc(bytes, count + 1);
    u8 *copy = aligned_alloc(64, (count + 64) / 64 * 64);
    if (!bytes || !copy)
        return;
    memcpy(copy, bytes, count);
    free(bytes);
    u64 sum = ((u64)copy & 63) * 1000000;
    for (u32 k = 0; k < count; k++)
        sum = sum * 3 + copy[k];
    free(copy);
    lengths[i] = count;
    sums[i] = sum;
}

static noinline u32 *boxed(u32 v)
{
    u32 *p = malloc(sizeof *p);
    if (p)
        *p = v;
    return p;
}

static u32 *doubled(u32 v)
{
    return boxed(2 * v);
}

//! run heap_calls block=40 (u32[40])
kernel void heap_calls(u32 *out)
{
    u32 *(*make)(u32) = thread_x() % 3 == 0 ? doubled : boxed, *p = make(thread_x());
    out[thread_x()] = p ? *p : 1000;
    free(p);
    free(NULL);
}
