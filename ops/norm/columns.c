// The gradients of a norm by weight and bias: sums over the rows of dout * (x - mean) * scale and of
// dout, for each column. WIDTH lanes have neighbouring packs of columns; the GROUPS of lanes of the
// block share the rows. A group takes AHEAD rows at a time; the sums of the groups of a warp are
// joined by shuffles, those of the warps in their order. Mean and scale of the rows come from
// backward.c.
#define NEST_OF 2
#include <kiln/rows.h>
KERNEL_OVERLAPS

tune(WIDTH, 32, 1, 2, 4, 8, 16);
enum { X, DOUT, WARPS = THREADS / 32, GROUPS = THREADS / WIDTH, AHEAD = 4 };

static inline f32 sum_of_groups(f32 x)
{
#pragma unroll
    for (u32 distance = WIDTH; distance < 32; distance *= 2)
        x += shuffle_xor(x, distance);
    return x;
}

kernel block(THREADS) void norm_columns(const T *restrict x_from, const T *restrict dout_from, struct nest n,
                                        const f32 *restrict statistics, u64 rows, T *restrict dweight, i64 weight_step,
                                        T *restrict dbias, i64 bias_step)
{
    kernel_begin();
    shared f32 parts[WARPS][2][V][WIDTH];
    u64 packs = row_packs(&n), at = (u64)block_x() * WIDTH + thread_x() % WIDTH;
    bool is_mine = at < packs;
    f32 dw[V], db[V];
    FOR_ELEMENTS(i)
        dw[i] = db[i] = 0;
    for (u64 first = thread_x() / WIDTH; first < rows; first += AHEAD * GROUPS) {
        f32 x[AHEAD][V], g[AHEAD][V], mean[AHEAD], scale[AHEAD];
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) {
            u64 row = first + k * GROUPS, index[8];
            mean[k] = scale[k] = 0;
            FOR_ELEMENTS(i)
                x[k][i] = g[k][i] = 0;
            if (row < rows && is_mine) {
                if (RANK > 1)
                    nest_find(&n, RANK - 1, row, index);
                load(x[k], x_from, row_first(&n, index, X), at, X, &n);
                load(g[k], dout_from, row_first(&n, index, DOUT), at, DOUT, &n);
                mean[k] = statistics[2 * row];
                scale[k] = statistics[2 * row + 1];
            }
        }
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++)
            FOR_ELEMENTS(i) {
                dw[i] += g[k][i] * ((x[k][i] - mean[k]) * scale[k]);
                db[i] += g[k][i];
            }
    }
    FOR_ELEMENTS(i) {
        f32 w = sum_of_groups(dw[i]), b = sum_of_groups(db[i]);
        if (lane() < WIDTH) {
            parts[warp()][0][i][lane()] = w;
            parts[warp()][1][i][lane()] = b;
        }
    }
    barrier();
    if (thread_x() < WIDTH && is_mine)
        FOR_ELEMENTS(i) {
            f32 w = 0, b = 0;
            for (u32 k = 0; k < WARPS; k++) {
                w += parts[k][0][i][thread_x()];
                b += parts[k][1][i][thread_x()];
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
