// Pads, crops, tiles and rolls: output element by output element, along each axis from the input's
// index that pad.h says. The innermost loop is one of packs where it is not padded; with SINGLES
// the elements of a pack are read one by one.
#include <kiln/moved.h>

tune(RANK, 2, 1, 3, 4, 5, 6, 7, 8);
tune(LONG, 0, 1);
tune(SINGLES, 0, 1);
#define NEST_RANK RANK
#define NEST_LONG LONG
#include "pad.h"
KERNEL_OVERLAPS
enum { THREADS = 256, PER = SINGLES ? 1 : 4 };

// Element i of a pack.
static inline void put(pack *p, u32 i, T x)
{
#if MOVED_WORDS
    u32 shift = i % (4 / BYTES) * (8 * BYTES);
    p->w[i / (4 / BYTES)] = (shift ? p->w[i / (4 / BYTES)] : 0u) | (u32)x << shift;
#else
    p->e[i] = x;
#endif
}

kernel block(THREADS) void pad(const T *restrict from, T *restrict to, struct nest n, struct pad_axes axes, T value)
{
    kernel_begin();
    u64 first = (u64)block_x() * (THREADS * PER) + thread_x();
    pack all[PER];
    i64 out[PER];
#pragma unroll
    for (u32 s = 0; s < PER; s++)
        if (first + s * THREADS < n.packs) {
            u64 index[8];
            i64 in = 0;
            bool is_inside = true;
            nest_find(&n, RANK, first + s * THREADS, index);
#pragma unroll
            for (u32 d = 0; d < RANK - SINGLES; d++)
                in += d == RANK - 1 && V > 1 ? (i64)index[d] : pad_source(&axes.a[d], index[d], &is_inside) * axes.a[d].stride;
            out[s] = nest_place(&n, RANK, index, 0);
            const struct pad_axis *last = &axes.a[RANK - 1];
#pragma unroll
            for (u32 i = 0; i < V; i++) {
                T x = value;
                if (SINGLES && is_inside) {
                    bool has_own = true;
                    i64 own = pad_source(last, index[RANK - 1] * V + i, &has_own);
                    if (has_own)
                        x = from[in + own * last->stride];
                }
                put(&all[s], i, x);
            }
            if (!SINGLES && is_inside)
                all[s] = ((const pack *)from)[in];
        }
#pragma unroll
    for (u32 s = 0; s < PER; s++)
        if (first + s * THREADS < n.packs)
            ((pack *)to)[out[s]] = all[s];
}
