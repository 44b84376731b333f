// Pads, crops, tiles and rolls: output element by output element, along each axis from the input's
// index that pad.h says. The innermost loop is one of packs where it is not padded.
#include <kiln/moved.h>

tune(RANK, 2, 1, 3, 4, 5, 6, 7, 8);
tune(LONG, 0, 1);
#define NEST_RANK RANK
#define NEST_LONG LONG
#include "pad.h"
KERNEL_OVERLAPS
enum { THREADS = 256, PER = 4 };

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
            for (u32 d = 0; d < RANK; d++)
                in += d == RANK - 1 && V > 1 ? (i64)index[d] : pad_source(&axes.a[d], index[d], &is_inside) * axes.a[d].stride;
            out[s] = nest_place(&n, RANK, index, 0);
#if V > 1 && MOVED_WORDS
            u32 filled = BYTES == 1 ? (u32)value * 0x01010101u : (u32)value * 0x00010001u;
#pragma unroll
            for (u32 i = 0; i < V * BYTES / 4; i++)
                all[s].w[i] = filled;
#else
#pragma unroll
            for (u32 i = 0; i < V; i++)
                all[s].e[i] = value;
#endif
            if (is_inside)
                all[s] = ((const pack *)from)[in];
        }
#pragma unroll
    for (u32 s = 0; s < PER; s++)
        if (first + s * THREADS < n.packs)
            ((pack *)to)[out[s]] = all[s];
}
