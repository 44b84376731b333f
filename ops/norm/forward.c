// Layer norm of rows, or with RMS root mean square norm: out = (x - mean) * scale * weight + bias
// with scale = 1 / sqrt(variance + eps); RMS has mean 0 and no bias unless one is given.
//
// With ADD what is normed is x + residual, rounded to the type of the tensors, which is stored as well.
//
// LANES threads have a row and keep it in registers, PER packs each; a longer one (PER 0) is read
// three times.
#define NEST_OF 6
#include "flags.h"
#include <kiln/rows.h>
KERNEL_OVERLAPS

enum { X, OUT, W, B, RESIDUAL, SUM };
// Weights and biases of few elements are fetched with them, those of some more all together after
// the sums, those that do not fit into the registers beside the row one after the other.
enum {
    KEPT = PER * (V + (V * sizeof(T) + 3) / 4 * (HAS_WEIGHT + HAS_BIAS)), // registers
    IS_AHEAD = PER && PER * V <= 8,
    IS_TOGETHER = IS_AHEAD || (PER && KEPT <= (THREADS > 512 ? 48 : 96)),
};

// What is normed.
#if PER
static void load_all_x(f32 v[PER][V], const T *x_from, i64 x, const T *residual, i64 r, const struct nest *n)
{
    raw of_x[PER], of_residual[PER];
    fetch_all(of_x, x_from, x, X, n);
    if (IS_ADDED)
        fetch_all(of_residual, residual, r, RESIDUAL, n);
    EACH_PACK(p)
        pack_open(T, V, v[p], of_x[p]);
    if (IS_ADDED)
        EACH_PACK(p) {
            f32 more[V];
            pack_open(T, V, more, of_residual[p]);
            FOR_ELEMENTS(i)
                v[p][i] += more[i];
            pack_round(T, V, v[p]);
        }
}
#else
static void load_x(f32 v[V], const T *x_from, i64 x, const T *residual, i64 r, u64 at, const struct nest *n)
{
    load(v, x_from, x, at, X, n);
    if (IS_ADDED) {
        f32 more[V];
        load(more, residual, r, at, RESIDUAL, n);
        FOR_ELEMENTS(i)
            v[i] = pack_get(T, pack_put(T, v[i] + more[i]));
    }
}
#endif

static void fetch_columns(raw *w, raw *b, const T *weight, const T *bias, const struct nest *n)
{
    if (HAS_WEIGHT)
        fetch_all(w, weight, 0, W, n);
    if (HAS_BIAS)
        fetch_all(b, bias, 0, B, n);
}

kernel block(THREADS) void norm(const T *ALONE x_from, T *ALONE to, const T *restrict weight, const T *restrict bias,
                                const T *ALONE residual, T *ALONE sum_to, struct nest n, f32 eps, f32 share)
{
    kernel_launch_next();
    u64 packs = row_packs(&n), index[8];
    bool is_there = row_find(&n, index);
    i64 x = row_first(&n, index, X), out = row_first(&n, index, OUT);
    i64 r = row_first(&n, index, RESIDUAL), total = row_first(&n, index, SUM);
    kernel_wait_previous();
    if (!is_there)
        return;
    f32 sum = 0, squares = 0, mean = 0;
#if PER
    f32 v[PER][V], w[V], b[V];
    raw of_w[PER], of_b[PER];
    if (IS_AHEAD)
        fetch_columns(of_w, of_b, weight, bias, &n);
    load_all_x(v, x_from, x, residual, r, &n);
    if (IS_ADDED)
        FOR_PACKS(p, packs)
            store(sum_to, total, pack_of(p), SUM, &n, v[p]);
    if (!IS_RMS) {
        FOR_PACKS(p, packs) {
            f32 part = 0;
            FOR_ELEMENTS(i)
                part += v[p][i];
            sum += part;
        }
        mean = row_sum(sum, 0) * share;
    }
    FOR_PACKS(p, packs) {
        f32 part = 0;
        FOR_ELEMENTS(i) {
            v[p][i] -= mean;
            part = fma(v[p][i], v[p][i], part);
        }
        squares += part;
    }
    f32 scale = rsqrt(row_sum(squares, 1) * share + eps);
    if (IS_TOGETHER && !IS_AHEAD)
        fetch_columns(of_w, of_b, weight, bias, &n);
    FOR_PACKS(p, packs) {
        const u64 at = pack_of(p);
        f32 *y = v[p];
        if (HAS_WEIGHT && IS_TOGETHER)
            pack_open(T, V, w, of_w[p]);
        if (HAS_BIAS && IS_TOGETHER)
            pack_open(T, V, b, of_b[p]);
#else
    f32 v[V], w[V], b[V];
    if (!IS_RMS) {
        FOR_LONG(at, packs) {
            load_x(v, x_from, x, residual, r, at, &n);
            FOR_ELEMENTS(i)
                sum += v[i];
        }
        mean = row_sum(sum, 0) * share;
    }
    FOR_LONG(at, packs) {
        load_x(v, x_from, x, residual, r, at, &n);
        FOR_ELEMENTS(i)
            squares = fma(v[i] - mean, v[i] - mean, squares);
    }
    f32 scale = rsqrt(row_sum(squares, 1) * share + eps);
    FOR_LONG(at, packs) {
        f32 *y = v;
        load_x(v, x_from, x, residual, r, at, &n);
        if (IS_ADDED)
            store(sum_to, total, at, SUM, &n, v);
        FOR_ELEMENTS(i)
            v[i] -= mean;
#endif
        if (HAS_WEIGHT && !IS_TOGETHER)
            load(w, weight, 0, at, W, &n);
        if (HAS_BIAS && !IS_TOGETHER)
            load(b, bias, 0, at, B, &n);
        FOR_ELEMENTS(i) {
            y[i] *= scale;
            y[i] = HAS_WEIGHT && HAS_BIAS ? fma(y[i], w[i], b[i])
                   : HAS_WEIGHT           ? y[i] * w[i]
                   : HAS_BIAS             ? y[i] + b[i]
                                          : y[i];
        }
        store(to, out, at, OUT, &n, y);
    }
}
