// The norms of forward.c where warps are not run side by side (the cpu device). One warp plays all LANES
// threads of a row, one warp of them after the other, and needs no barrier. It reads the row three
// times, out of the cache but for the first: the sums in forward.c's order, so that the bits are the
// same, the rest along the row. Rows are dense.
#define NEST_OF 6
#include "flags.h"
#include <kiln/played.h>

enum { X, OUT, W, B, RESIDUAL, SUM };

kernel block(32) void norm_row(const T *ALONE x_from, T *ALONE to, const T *restrict weight, const T *restrict bias,
                                    const T *ALONE residual, T *ALONE sum_to, struct nest n, f32 eps, f32 share)
{
    const u64 packs = row_packs(&n), row = block_x(), next = row + 1 < n.rest ? row + 1 : row;
    const T *x = x_from + played_row(&n, row, X), *more = residual + played_row(&n, row, RESIDUAL);
    const T *x_next = x_from + played_row(&n, next, X);
    T *out = to + played_row(&n, row, OUT), *total = sum_to + played_row(&n, row, SUM);
    const T *normed = IS_ADDED ? total : x;
    f32 mean = 0, sums[ROW_WARPS], v[V], other[V];
    if (!IS_RMS || IS_ADDED) {
        EACH_WARP(w) {
            f32 sum = 0;
            FOR_PLAYED(p, w, packs) {
                f32 part = 0;
                prefetch(out + played_in_turn(p, w));
                pack_load(T, V, v, x, played_pack(p, w));
                if (IS_ADDED) {
                    pack_load(T, V, other, more, played_pack(p, w));
                    FOR_ELEMENTS(i)
                        v[i] += other[i];
                    pack_round(T, V, v);
                    pack_store(T, V, total, played_pack(p, w), v);
                }
                FOR_ELEMENTS(i)
                    part += v[i];
                sum += part;
            }
            sums[w] = IS_RMS ? 0.0f : warp_sum(sum);
        }
        mean = IS_RMS ? 0.0f : played_sum(sums) * share;
    }
    EACH_WARP(w) {
        f32 squares = 0;
        FOR_PLAYED(p, w, packs) {
            f32 part = 0;
            prefetch(x_next + played_in_turn(p, w));
            if (IS_RMS && !IS_ADDED)
                prefetch(out + played_in_turn(p, w));
            pack_load(T, V, v, normed, played_pack(p, w));
            FOR_ELEMENTS(i) {
                v[i] -= mean;
                part = fma(v[i], v[i], part);
            }
            squares += part;
        }
        sums[w] = warp_sum(squares);
    }
    warp_sync(); // from here on lanes read what others stored
    const f32 scale = rsqrt(played_sum(sums) * share + eps);
    ALONG_ROW(at, played_columns(&n)) {
        const u32 e = at + lane();
        f32 y = (pack_get(T, normed[e]) - mean) * scale;
        y = HAS_WEIGHT && HAS_BIAS ? fma(y, pack_get(T, weight[e]), pack_get(T, bias[e]))
            : HAS_WEIGHT           ? y * pack_get(T, weight[e])
            : HAS_BIAS             ? y + pack_get(T, bias[e])
                                   : y;
        out[e] = pack_put(T, y);
    }
}
