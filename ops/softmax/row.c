// The softmax of kernel.c, forward, where warps are not run side by side (the cpu device). One warp
// plays all LANES threads of a row, one warp of them after the other, and needs no barrier. The row
// comes from the cache the second time; what its sum is made of is kept. The order is kernel.c's, so the
// bits are the same. Rows are dense.
#define NEST_OF 2
#include <kiln/played.h>
#include "exp.h"

// The largest number of a row: its order says nothing.
static inline f32 largest_of(const T *x, u32 columns)
{
    enum { CHAINS = 4, STEP = 32 * CHAINS, IS_EVEN = WHOLE && LANES * PER * V % STEP == 0 };
    f32 largest[CHAINS];
    EACH_OF(k, CHAINS)
    largest[k] = -INFINITY;
#pragma unroll 1
    for (u32 at = lane(); at < (columns + STEP - 1) / STEP * STEP; at += STEP)
        EACH_OF(k, CHAINS)
        if (IS_EVEN || at + k * 32 < columns)
            largest[k] = max(largest[k], pack_get(T, x[at + k * 32]));
    return warp_max(max(max(largest[0], largest[1]), max(largest[2], largest[3])));
}

kernel block(32) void softmax_row(const T *ALONE a_from, T *ALONE r_to, struct nest n)
{
    const u64 packs = row_packs(&n), row = block_x(), next = row + 1 < n.rest ? row + 1 : row;
    const T *x = a_from + played_row(&n, row, 0), *x_next = a_from + played_row(&n, next, 0);
    T *out = r_to + played_row(&n, row, 1);
    f32 v[ROW_WARPS][PER][V], sums[ROW_WARPS];
    const f32 largest = largest_of(x, played_columns(&n));
    EACH_WARP(w) {
        f32 sum = 0;
        FOR_PLAYED(p, w, packs) {
            f32 part = 0, own[V];
            prefetch(x_next + played_in_turn(p, w));
            prefetch(out + played_in_turn(p, w));
            pack_load(T, V, own, x, played_pack(p, w));
            FOR_ELEMENTS(i) {
                f32 e = exp_below(own[i] - largest);
                v[w][p][i] = IS_LOG ? own[i] - largest : e;
                part += e;
            }
            sum += part;
        }
        sums[w] = warp_sum(sum);
    }
    const f32 sum = played_sum(sums), scale = 1.0f / sum, shift = IS_LOG ? log(sum) : 0.0f;
    EACH_WARP(w)
        FOR_PLAYED(p, w, packs) {
            f32 y[V];
            FOR_ELEMENTS(i)
                y[i] = IS_LOG ? v[w][p][i] - shift : v[w][p][i] * scale;
            pack_store(T, V, out, played_pack(p, w), y);
        }
}
