// The gradient of layer norm, or with RMS of root mean square norm, by x: with g = dout * weight and
// y = (x - mean) * scale it is scale * (g - mean(g) - y * mean(g * y)), without mean(g) for RMS.
// Mean and scale of a row are made again; with STATISTICS they are kept for columns.c.
#define NEST_OF 5
#include <kiln/rows.h>
KERNEL_OVERLAPS

#ifdef RMS
#    define IS_RMS 1
#else
#    define IS_RMS 0
#endif
enum { X, W, DOUT, DX_VIEW, DSUM };

// y = (x - mean) * scale and g of a pack.
static void pack_at(u64 at, const T *x_from, i64 x, const T *weight, const T *dout_from, i64 dout, const struct nest *n, f32 mean,
                    f32 scale, f32 y[V], f32 g[V])
{
    load(y, x_from, x, at, X, n);
    load(g, dout_from, dout, at, DOUT, n);
    FOR_ELEMENTS(i)
        y[i] = (y[i] - mean) * scale;
#ifdef WEIGHT
    f32 w[V];
    load(w, weight, 0, at, W, n);
    FOR_ELEMENTS(i)
        g[i] *= w[i];
#endif
}

// With ADD: the gradient that the sum has from elsewhere.
static void add_sum(f32 g[V], const T *dsum_from, i64 dsum, u64 at, const struct nest *n)
{
#ifdef ADD
    f32 more[V];
    load(more, dsum_from, dsum, at, DSUM, n);
    FOR_ELEMENTS(i)
        g[i] += more[i];
#endif
}

#ifdef ADD // else ptxas spills for the sake of one more block
#    define BOUND min_blocks(1)
#else
#    define BOUND
#endif

kernel block(THREADS) BOUND void norm_backward(const T *ALONE x_from, const T *restrict weight, const T *ALONE dout_from, T *ALONE dx_to,
                                         const T *ALONE dsum_from, struct nest n, f32 *restrict statistics,
                                         f32 eps, f32 share)
{
    kernel_launch_next();
    u64 packs = row_packs(&n), index[8];
    bool is_there = row_find(&n, index);
    i64 x = row_first(&n, index, X), dout = row_first(&n, index, DOUT), dx = row_first(&n, index, DX_VIEW), dsum = row_first(&n, index, DSUM);
    kernel_wait_previous();
    if (!is_there)
        return;
    f32 sum = 0, squares = 0, mean = 0, sum_g = 0, sum_gy = 0;
#if PER
    f32 y[PER][V], g[PER][V];
    FOR_PACKS(p, packs)
        pack_at(pack_of(p), x_from, x, weight, dout_from, dout, &n, 0, 1, y[p], g[p]);
    if (!IS_RMS) {
        FOR_PACKS(p, packs)
            FOR_ELEMENTS(i)
                sum += y[p][i];
        mean = row_sum(sum, 0) * share;
    }
    FOR_PACKS(p, packs)
        FOR_ELEMENTS(i) {
            y[p][i] -= mean;
            squares += y[p][i] * y[p][i];
        }
    f32 scale = rsqrt(row_sum(squares, 1) * share + eps);
    FOR_PACKS(p, packs)
        FOR_ELEMENTS(i) {
            y[p][i] *= scale;
            sum_g += g[p][i];
            sum_gy += g[p][i] * y[p][i];
        }
    f32 mean_g = IS_RMS ? 0.0f : row_sum(sum_g, 2) * share, mean_gy = row_sum(sum_gy, 3) * share;
    FOR_PACKS(p, packs) {
        FOR_ELEMENTS(i)
            g[p][i] = scale * (g[p][i] - mean_g - y[p][i] * mean_gy);
        add_sum(g[p], dsum_from, dsum, pack_of(p), &n);
        store(dx_to, dx, pack_of(p), DX_VIEW, &n, g[p]);
    }
#else
    f32 y[V], g[V];
    if (!IS_RMS) {
        FOR_LONG(at, packs) {
            load(y, x_from, x, at, X, &n);
            FOR_ELEMENTS(i)
                sum += y[i];
        }
        mean = row_sum(sum, 0) * share;
    }
    FOR_LONG(at, packs) {
        load(y, x_from, x, at, X, &n);
        FOR_ELEMENTS(i)
            squares += (y[i] - mean) * (y[i] - mean);
    }
    f32 scale = rsqrt(row_sum(squares, 1) * share + eps);
    FOR_LONG(at, packs) {
        pack_at(at, x_from, x, weight, dout_from, dout, &n, mean, scale, y, g);
        FOR_ELEMENTS(i) {
            sum_g += g[i];
            sum_gy += g[i] * y[i];
        }
    }
    f32 mean_g = IS_RMS ? 0.0f : row_sum(sum_g, 2) * share, mean_gy = row_sum(sum_gy, 3) * share;
    FOR_LONG(at, packs) {
        pack_at(at, x_from, x, weight, dout_from, dout, &n, mean, scale, y, g);
        FOR_ELEMENTS(i)
            g[i] = scale * (g[i] - mean_g - y[i] * mean_gy);
        add_sum(g, dsum_from, dsum, at, &n);
        store(dx_to, dx, at, DX_VIEW, &n, g);
    }
#endif
#ifdef STATISTICS
    if (lane_of_row() == 0 && row_is_there(&n)) {
        statistics[2 * row_of()] = mean;
        statistics[2 * row_of() + 1] = scale;
    }
#endif
}
