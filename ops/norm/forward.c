// Layer norm of rows, or with RMS root mean square norm: out = (x - mean) * scale * weight + bias
// with scale = 1 / sqrt(variance + eps); RMS has mean 0 and no bias unless one is given.
//
// With ADD what is normed is x + residual, rounded to the type of the tensors, which is stored as well.
//
// LANES threads have a row and keep it in registers, PER packs each; a longer one (PER 0) is read
// three times.
#define NEST_OF 6
#include <kiln/rows.h>
KERNEL_OVERLAPS

#ifdef RMS
#    define IS_RMS 1
#else
#    define IS_RMS 0
#endif
enum { X, OUT, W, B, RESIDUAL, SUM };

// What is normed.
static void load_x(f32 v[V], const T *x_from, i64 x, const T *residual, i64 r, u64 at, const struct nest *n)
{
    load(v, x_from, x, at, X, n);
#ifdef ADD
    f32 more[V];
    load(more, residual, r, at, RESIDUAL, n);
    FOR_ELEMENTS(i)
        v[i] = pack_get(T, pack_put(T, v[i] + more[i]));
#endif
}

kernel block(THREADS) void norm(const T *ALONE x_from, T *ALONE to, const T *restrict weight, const T *restrict bias,
                                const T *ALONE residual, T *ALONE sum_to, struct nest n, f32 eps, f32 columns)
{
    kernel_begin();
    u64 packs = row_packs(&n), index[8];
    if (!row_find(&n, index))
        return;
    i64 x = row_first(&n, index, X), out = row_first(&n, index, OUT);
    i64 r = row_first(&n, index, RESIDUAL), total = row_first(&n, index, SUM);
    f32 sum = 0, squares = 0, mean = 0, w[V], b[V];
#if PER
    f32 v[PER][V];
    FOR_PACKS(p, packs)
        load_x(v[p], x_from, x, residual, r, pack_of(p), &n);
#    ifdef ADD
    FOR_PACKS(p, packs)
        store(sum_to, total, pack_of(p), SUM, &n, v[p]);
#    endif
    if (!IS_RMS) {
        FOR_PACKS(p, packs) {
            f32 part = 0;
            FOR_ELEMENTS(i)
                part += v[p][i];
            sum += part;
        }
        mean = row_sum(sum) / columns;
    }
    FOR_PACKS(p, packs) {
        f32 part = 0;
        FOR_ELEMENTS(i) {
            v[p][i] -= mean;
            part += v[p][i] * v[p][i];
        }
        squares += part;
    }
    f32 scale = rsqrt(row_sum(squares) / columns + eps);
#    define EACH_PACK(p)  FOR_PACKS(p, packs)
#    define AT(p)         pack_of(p)
#    define CENTRED(p)    (v[p])
#else
    f32 v[V];
    if (!IS_RMS) {
        FOR_LONG(at, packs) {
            load_x(v, x_from, x, residual, r, at, &n);
            FOR_ELEMENTS(i)
                sum += v[i];
        }
        mean = row_sum(sum) / columns;
    }
    FOR_LONG(at, packs) {
        load_x(v, x_from, x, residual, r, at, &n);
        FOR_ELEMENTS(i)
            squares += (v[i] - mean) * (v[i] - mean);
    }
    f32 scale = rsqrt(row_sum(squares) / columns + eps);
#    define EACH_PACK(p)  FOR_LONG(p, packs)
#    define AT(p)         (p)
#    define CENTRED(p)    v
#endif
    EACH_PACK(p) {
#if !PER
        load_x(v, x_from, x, residual, r, p, &n);
#    ifdef ADD
        store(sum_to, total, p, SUM, &n, v);
#    endif
        FOR_ELEMENTS(i)
            v[i] -= mean;
#endif
        FOR_ELEMENTS(i)
            CENTRED(p)[i] *= scale;
#ifdef WEIGHT
        load(w, weight, 0, AT(p), W, &n);
        FOR_ELEMENTS(i)
            CENTRED(p)[i] *= w[i];
#endif
#ifdef BIAS
        load(b, bias, 0, AT(p), B, &n);
        FOR_ELEMENTS(i)
            CENTRED(p)[i] += b[i];
#endif
        store(to, out, AT(p), OUT, &n, CENTRED(p));
    }
}
