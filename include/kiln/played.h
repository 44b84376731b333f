// kiln/played.h: kernels of rows where warps are not run side by side (the cpu device). A block is
// one warp. It plays all LANES threads that a row has in other kernels of rows, a warp of them
// after the other, in their order, and needs no barrier. Rows are dense.
//
//     EACH_WARP(w) {
//         f32 sum = 0;
//         FOR_PLAYED(p, w, packs) { … pack_load(T, V, v, row, played_pack(p, w)) … }
//         sums[w] = warp_sum(sum);
//     }
//     f32 all = played_sum(sums);
//     ALONG_ROW(at, columns) { … out[at + lane()] … }
#ifndef KILN_PLAYED_H
#define KILN_PLAYED_H

#include <kiln/rows.h>

enum { ROW_WARPS = LANES / 32 };

#define EACH_WARP(w) _Pragma("unroll 1") for (u32 w = 0; w < ROW_WARPS; w++)
#define FOR_PLAYED(p, w, packs)                                                                    \
    _Pragma("unroll") for (u32 p = 0; p < PER; p++) if (WHOLE || played_pack(p, w) < (u32)(packs))
// Of 32 neighbours each lane has one.
#define ALONG_ROW(at, columns)                                                                     \
    _Pragma("unroll 4") for (u32 at = 0; at < (columns);                                           \
                             at += 32) if (WHOLE || at + lane() < (columns))

// Where a thread of warp w has its pack p.
static inline u32 played_pack(u32 p, u32 w)
{
    return w * 32 + p * LANES + lane();
}

// An element of the same pack if the packs were numbered as they are played: what is asked for in
// this order comes page by page.
static inline u32 played_in_turn(u32 p, u32 w)
{
    return ((w * PER + p) * 32 + lane()) * V;
}

static inline u32 played_columns(const struct nest *n)
{
    return WHOLE ? LANES * PER * V : (u32)row_packs(n) * V;
}

// The first element of row number `row` of view k.
static inline i64 played_row(const struct nest *n, u64 row, u32 k)
{
    u64 index[8];
    if (RANK == 1)
        return 0;
    nest_find(n, RANK - 1, row, index);
    return row_first(n, index, k) * V;
}

// The warps' sums, added as block_sum does.
static inline f32 played_sum(const f32 *sums)
{
    f32 all[ROW_WARPS];
#pragma unroll
    for (u32 w = 0; w < ROW_WARPS; w++)
        all[w] = sums[w];
#pragma unroll
    for (u32 step = 1; step < ROW_WARPS; step *= 2)
#pragma unroll
        for (u32 w = 0; w + step < ROW_WARPS; w += 2 * step)
            all[w] = all[w] + all[w + step];
    return all[0];
}

#endif
