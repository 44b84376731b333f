// Gathers: each element of out is the one of x whose index along some axes is read from memory. The
// loops are over out; x has strides of 0 in those where its index is not theirs. An index that x
// does not have gives zeros.
#include <kiln/moved.h>

#ifndef INDEX
#    define INDEX i32
#endif
tune(AXES, 1, 2, 3, 4, 5, 6, 7, 8); // indices of an element
tune(RANK, 2, 1, 3, 4, 5, 6, 7, 8);
tune(LONG, 0, 1);
#define NEST_RANK RANK
#define NEST_LONG LONG
#include <kiln/nest.h>
KERNEL_OVERLAPS
enum { X, AT, OUT, THREADS = 256, PER = V * BYTES == 16 ? 2 : 4 };

struct indexed { // axes of x that are indexed
    u64 sizes[8];
    i64 strides[8]; // in packs
    i64 step;       // from one index of an element to the next
};

kernel block(THREADS) void gather(const T *restrict from, const INDEX *restrict index,
                                  T *restrict to, struct nest n, struct indexed axes)
{
    kernel_begin();
    u64 first = (u64)block_x() * (THREADS * PER) + thread_x(), at[PER][8];
    i64 place[PER];
    bool is_inside[PER];
#pragma unroll
    for (u32 s = 0; s < PER; s++) {
        is_inside[s] = false;
        if (first + s * THREADS < n.packs) {
            nest_find(&n, RANK, first + s * THREADS, at[s]);
            i64 where = nest_place(&n, RANK, at[s], AT);
            place[s] = nest_place(&n, RANK, at[s], X);
            is_inside[s] = true;
#pragma unroll
            for (u32 a = 0; a < AXES; a++) {
                i64 i = (i64)index[where + (i64)a * axes.step], size = (i64)axes.sizes[a];
                i = i < 0 ? i + size : i;
                is_inside[s] = is_inside[s] && i >= 0 && i < size;
                place[s] += i * axes.strides[a];
            }
        }
    }
    pack all[PER];
#pragma unroll
    for (u32 s = 0; s < PER; s++) {
#if MOVED_WORDS
#    pragma unroll
        for (u32 i = 0; i < V * BYTES / 4; i++)
            all[s].w[i] = 0;
#else
#    pragma unroll
        for (u32 i = 0; i < V; i++)
            all[s].e[i] = 0;
#endif
        if (is_inside[s])
            all[s] = ((const pack *)from)[place[s]];
    }
#pragma unroll
    for (u32 s = 0; s < PER; s++)
        if (first + s * THREADS < n.packs)
            ((pack *)to)[nest_place(&n, RANK, at[s], OUT)] = all[s];
}
