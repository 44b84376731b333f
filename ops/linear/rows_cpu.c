// rows.c for devices that run a warp as vectors of a CPU: the same sums in the same order, and so the same bits. A lane
// is a row of the weights, not a part of K. The 32 parts of K that the lanes of rows.c add up are 32 sums one after the
// other here, which are then added in the order of warp_sum.
//
// A part's elements of x are widened to f32 first and lie side by side. So are those of i8: 16 of their products add up
// in f32 without rounding, and these sums are added in i32.
#include <kiln/kernel.h>

tune(ROWS, 8, 1, 2, 4);
tune(GROUPED, 1, 0);
tune(W_PACKED, 1, 0);
#include "decode.h"

enum {
    LANES = 32,   // of rows.c
    STAGE = 1024, // elements of x at a time
    SHARED_BYTES = ROWS * STAGE * 4
};

#ifdef X_i8
typedef i32 sum_t;
#else
typedef f32 sum_t;
#endif
_Alignas(64) shared f32 stage[];

// Elements of x of a part, `count` of them from its chunk number `first` on; behind K there are zeros.
static void load_stage(const X *x, const struct linear *l, u32 top, u32 part, u32 first, u32 count)
{
#pragma unroll 1
    for (u32 i = 0; i < ROWS; i++) {
        const X *row = x + (i64)min(top + i, l->m - 1) * l->x[0];
        for (u32 p = lane(); p < count; p += 32) {
            u32 k = (part + (first + p / CHUNK) * LANES) * CHUNK + p % CHUNK;
            stage[i * STAGE + p] = k < l->k ? (f32)pack_get(X, row[(i64)k * l->x[1]]) : 0.0f;
        }
    }
}

// sums += a chunk of x, which begins at `at` of the stage, times the lane's weights
static void multiply(f32 *sums, u32 at, const chunk *w, f32 zero)
{
#pragma unroll
    for (u32 piece = 0; piece < CHUNK / 8; piece++) {
        f32 weights[8];
        decode(weights, w, piece, zero);
#pragma unroll
        for (u32 e = 0; e < 8; e++)
#pragma unroll
            for (u32 i = 0; i < ROWS; i++)
                sums[i] = fma(weights[e], stage[i * STAGE + at + piece * 8 + e], sums[i]);
    }
}

kernel block(32) void linear_rows_cpu(const X *restrict x, POINTERS(const weight_t, weight),
#ifndef OUT_i32
                                      POINTERS(const SCALE, scale),
#endif
#ifdef HAS_ZERO
                                      POINTERS(const zero_t, zero),
#endif
#ifdef HAS_BIAS
                                      POINTERS(const f32, bias),
#endif
#ifdef HAS_X_SCALE
                                      const f32 *restrict x_scale,
#endif
                                      POINTERS(OUT, out), struct linear l)
{
    corner c = corner_of(&l, block_x(), 32);
    u32 n = FIELD(l, c.which, n), column = min(c.column + lane(), n - 1);
    const weight_t *from = OF(c.which, weight) + (i64)column * FIELD(l, c.which, weight);
#ifndef OUT_i32
    const SCALE *s = OF(c.which, scale) + (i64)column * FIELD(l, c.which, scale[0]);
#endif
#ifndef X_i8
    i64 scale_step = FIELD(l, c.which, scale[1]);
#endif
#ifdef HAS_ZERO
    const zero_t *z = OF(c.which, zero) + (i64)column * FIELD(l, c.which, zero[0]);
    i64 zero_step = FIELD(l, c.which, zero[1]);
#else
    const zero_t *z = NULL;
    i64 zero_step = 0;
#endif
    u32 chunks = (l.k + CHUNK - 1) / CHUNK;
    for (u32 top = block_y() * ROWS; top < l.m; top += grid_dim_y() * ROWS) {
        sum_t sums[LANES * ROWS];
#pragma unroll 1
        for (u32 part = 0; part < LANES; part++) {
            u32 own = chunks > part ? (chunks - part + LANES - 1) / LANES : 0; // chunks of the part
            sum_t sum[ROWS];
#pragma unroll
            for (u32 i = 0; i < ROWS; i++)
                sum[i] = 0;
#pragma unroll 1
            for (u32 first = 0; first < own; first += STAGE / CHUNK) {
                u32 count = min(own - first, (u32)(STAGE / CHUNK));
                load_stage(x, &l, top, part, first, count * CHUNK);
                warp_sync();
#pragma unroll 1
                for (u32 at = 0; at < count; at++) {
                    u32 k = (part + (first + at) * LANES) * CHUNK;
                    chunk w = load_chunk(from, k, l.k);
                    i64 group = GROUPED ? (i64)(k >> l.group_shift) : 0;
                    f32 zero = zero_of(z, group * zero_step);
                    f32 terms[ROWS];
#ifdef X_i8
#    pragma unroll
                    for (u32 i = 0; i < ROWS; i++)
                        terms[i] = 0.0f;
                    multiply(terms, at * CHUNK, &w, zero);
#    pragma unroll
                    for (u32 i = 0; i < ROWS; i++)
                        sum[i] += (i32)terms[i];
#else
                    f32 its = GROUPED ? pack_get(SCALE, s[group * scale_step]) : 0.0f;
#    pragma unroll
                    for (u32 i = 0; i < ROWS; i++)
                        terms[i] = GROUPED ? 0.0f : sum[i];
                    multiply(terms, at * CHUNK, &w, zero);
#    pragma unroll
                    for (u32 i = 0; i < ROWS; i++)
                        sum[i] = GROUPED ? fma(its, terms[i], sum[i]) : terms[i];
#endif
                }
                warp_sync();
            }
#pragma unroll
            for (u32 i = 0; i < ROWS; i++)
                sums[part * ROWS + i] = sum[i];
        }
#pragma unroll 1
        for (u32 step = 1; step < LANES; step *= 2)
#pragma unroll 1
            for (u32 part = 0; part < LANES; part += 2 * step)
#pragma unroll
                for (u32 i = 0; i < ROWS; i++)
                    sums[part * ROWS + i] += sums[(part + step) * ROWS + i];
        if (c.column + lane() >= n)
            continue;
#ifdef HAS_BIAS
        f32 added = OF(c.which, bias)[(i64)column * FIELD(l, c.which, bias)];
#endif
#pragma unroll 1
        for (u32 i = 0; i < ROWS && top + i < l.m; i++) {
            OUT *to = OF(c.which, out) + ((i64)(top + i) * FIELD(l, c.which, out[0]) + (i64)column * FIELD(l, c.which, out[1]));
#ifdef OUT_i32
            *to = sums[i];
#else
            f32 result = (f32)sums[i], token = 1.0f;
#    ifdef HAS_X_SCALE
            token = x_scale[(i64)(top + i) * l.x_scale];
#    endif
            if (!GROUPED)
                result *= token * pack_get(SCALE, s[0]);
#    ifdef HAS_BIAS
            result += added;
#    endif
            *to = pack_put(OUT, activate(result));
#endif
        }
    }
}
