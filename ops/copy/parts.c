// Copies of several tensors in one launch: part p is a nest of loops over packs, in blocks
// parts[p].first_block and on.
#include <kiln/moved.h>
KERNEL_OVERLAPS

tune(RANK, 2, 1, 3, 4, 5, 6, 7, 8);
tune(LONG, 0, 1);
tune(PARTS, 1, 2, 3, 4, 5, 6, 7, 8);
enum { THREADS = 256, PER = 4 };

struct part { // strides in packs where the innermost loop is one of packs
    u64 packs, first_block;
    u64 sizes[8];
    i64 in[8], out[8];
};
struct parts {
    struct part p[8];
};

static void copy(const T *from, T *to, const struct part *n, u64 block)
{
    u64 first = block * (THREADS * PER) + thread_x();
    pack all[PER];
    i64 out[PER];
#pragma unroll
    for (u32 s = 0; s < PER; s++) {
        u64 at = first + s * THREADS;
        i64 in = out[s] = 0;
        if (at < n->packs) {
#pragma unroll
            for (i32 d = (i32)RANK - 1; d >= 0; d--) {
                u64 rest = d == 0 ? 0 : LONG ? at / n->sizes[d] : (u64)((u32)at / (u32)n->sizes[d]);
                i64 index = (i64)(at - rest * n->sizes[d]);
                in += index * n->in[d];
                out[s] += index * n->out[d];
                at = rest;
            }
            all[s] = ((const pack *)from)[in];
        }
    }
#pragma unroll
    for (u32 s = 0; s < PER; s++)
        if (first + s * THREADS < n->packs)
            ((pack *)to)[out[s]] = all[s];
}

#define PART(k)                                                                                                        \
    if (k < PARTS && block >= n.p[k].first_block && (k + 1 >= PARTS || block < n.p[(k + 1) % 8].first_block))          \
        copy(from##k, to##k, &n.p[k], block - n.p[k].first_block);

kernel block(THREADS) void copy_parts(const T *from0, const T *from1, const T *from2, const T *from3, const T *from4,
                                      const T *from5, const T *from6, const T *from7, T *to0, T *to1, T *to2, T *to3,
                                      T *to4, T *to5, T *to6, T *to7, struct parts n)
{
    kernel_begin();
    u64 block = block_x();
    PART(0)
    PART(1)
    PART(2)
    PART(3)
    PART(4)
    PART(5)
    PART(6)
    PART(7)
}
