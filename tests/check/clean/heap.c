// Kernels that allocate, and do it right: lists, growing arrays, blocks that go from thread to
// thread, from block to block, and from one size to another.
#include <stdlib.h>

#include <kiln/kernel.h>

typedef struct node {
    u32 value;
    struct node *next;
} node;

//! run lists grid=3 block=64 (u32[192])
kernel void lists(u32 *out)
{
    node *first = NULL;
    u32 total = 0;
    for (u32 k = 0; k <= thread_x() % 5; k++) {
        node *made = malloc(sizeof *made);
        if (!made)
            break;
        *made = (node){k, first};
        first = made;
    }
    while (first) {
        node *next = first->next;
        total += first->value;
        free(first);
        first = next;
    }
    out[global_x()] = total;
}

//! run grow grid=2 block=32 (u64[64])
kernel void grow(u64 *out)
{
    u64 cap = 1, count = 0, *all = malloc(8), total = 0;
    for (u64 k = 0; all && k < 40 + thread_x(); k++) {
        if (count == cap) {
            u64 *more = realloc(all, cap * 16);
            if (!more)
                break;
            all = more;
            cap *= 2;
        }
        all[count++] = k;
    }
    for (u64 k = 0; k < count; k++)
        total += all[k];
    free(all);
    u8 *zero = calloc(count, 3);
    for (u64 k = 0; zero && k < count * 3; k++)
        total += zero[k];
    free(zero);
    out[global_x()] = total;
}

//! run hand_on grid=4 block=32 (u64[8], u32[128])
kernel void hand_on(u64 *mail, u32 *out)
{
    // Every block takes what the one before it has left, and leaves something larger.
    shared u32 *mine, *theirs;
    u32 b = block_x();
    if (thread_x() == 0) {
        theirs = (u32 *)atomic_load_at(&mail[b], order_acquire, scope_device);
        mine = aligned_alloc(256, 128 * (b + 1));
    }
    barrier();
    if (mine)
        mine[thread_x()] = thread_x() + (theirs ? theirs[31 - thread_x()] : 100);
    barrier();
    if (mine)
        out[global_x()] = mine[31 - thread_x()];
    if (thread_x() == 0) {
        free(theirs);
        atomic_store_at(&mail[b + 1], (u64)mine, order_release, scope_device);
    }
}
