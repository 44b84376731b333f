// The gradients of a norm by weight and bias: sums over the rows of dout * (x - mean) * scale and of
// dout, for each column. A lane has a pack of columns; the warps of the block share the rows, and
// their sums are added in the order of the warps. Mean and scale of the rows come from backward.c.
#include <kiln/rows.h>
KERNEL_OVERLAPS

enum { X, DOUT, WARPS = THREADS / 32 };

kernel block(THREADS) void norm_columns(const T *restrict x_from, const T *restrict dout_from, const f32 *restrict statistics,
                                        T *restrict dweight, T *restrict dbias, struct nest n, u64 rows, i64 weight_step, i64 bias_step)
{
    kernel_begin();
    shared f32 parts[WARPS][2][V][32];
    u64 packs = row_packs(&n), at = (u64)block_x() * 32 + lane();
    f32 dw[V], db[V];
    FOR_ELEMENTS(i)
        dw[i] = db[i] = 0;
    for (u64 row = warp(); row < rows; row += WARPS) {
        u64 index[8];
        f32 x[V], g[V], mean = statistics[2 * row], scale = statistics[2 * row + 1];
        if (RANK > 1)
            nest_find(&n, RANK - 1, row, index);
        if (at < packs) {
            load(x, x_from, row_first(&n, index, X), at, X, &n);
            load(g, dout_from, row_first(&n, index, DOUT), at, DOUT, &n);
            FOR_ELEMENTS(i) {
                dw[i] += g[i] * ((x[i] - mean) * scale);
                db[i] += g[i];
            }
        }
    }
    FOR_ELEMENTS(i) {
        parts[warp()][0][i][lane()] = dw[i];
        parts[warp()][1][i][lane()] = db[i];
    }
    barrier();
    if (warp() == 0 && at < packs)
        FOR_ELEMENTS(i) {
            f32 w = 0, b = 0;
            for (u32 k = 0; k < WARPS; k++) {
                w += parts[k][0][i][lane()];
                b += parts[k][1][i][lane()];
            }
            i64 column = (i64)(at * V + i);
#ifdef WEIGHT
            dweight[column * weight_step] = pack_put(T, w);
#endif
#ifdef BIAS
            dbias[column * bias_step] = pack_put(T, b);
#endif
        }
}
