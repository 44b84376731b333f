// out[M,N] = x * transposed quantised weights for a few rows of x, bound by reading the weights. A warp has COLUMNS rows
// of the weights and ROWS of x; a lane reads 16 bytes of each weight row at a time, every 32nd of them, decodes them in
// registers and adds up. The order of a sum depends on K alone: a lane's elements in order, a group's (of one chunk)
// times its scale, then the lanes as warp_sum does. The bits are the same on every device.
//
// Weights of i8 with x of i8 are multiplied four at a time, and their sums are exact.
#include <kiln/kernel.h>

tune(ROWS, 1, 2, 4, 8);
tune(COLUMNS, 4, 1, 2);
tune(WARPS, 4, 1);
tune(GROUPED, 1, 0);  // a scale for each group; 0: one for all of K
tune(X_PACKED, 1, 0); // rows of x are contiguous, start at multiples of 16 bytes, and K is a multiple of CHUNK
tune(W_PACKED, 1, 0); // rows of the weights start at multiples of 16 bytes
#include "decode.h"

#ifdef X_i8
typedef i32 sum_t;
#else
typedef f32 sum_t;
#    ifdef X_f32
PACK(f32, 4)
#    else
PACK(X, 8)
#    endif
#endif

#ifdef X_i8
// sums += x * weights of a chunk
static inline void multiply(sum_t (*sums)[ROWS][COLUMNS], const X *const *x, i64 step, const chunk *w, const f32 *zero, u32 k,
                            u32 depth)
{
#pragma unroll
    for (u32 i = 0; i < ROWS; i++) {
        u32 words[4] = {0, 0, 0, 0};
        if (X_PACKED) {
            u32x4 v = *(const u32x4 *)(const void *)(x[i] + k);
            words[0] = v.x;
            words[1] = v.y;
            words[2] = v.z;
            words[3] = v.w;
        } else {
#pragma unroll
            for (u32 e = 0; e < CHUNK; e++)
                if (k + e < depth)
                    words[e / 4] |= (u32)(u8)x[i][(i64)(k + e) * step] << e % 4 * 8;
        }
#pragma unroll
        for (u32 j = 0; j < COLUMNS; j++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                (*sums)[i][j] = dot4_i8(words[e], w[j].words[e], (*sums)[i][j]);
    }
}
#else
static inline void load_x(f32 *to, const X *row, i64 step, u32 k, u32 depth)
{
    if (X_PACKED) {
#    ifdef X_f32
        pack_load(f32, 4, to, row + k, 0);
        pack_load(f32, 4, to + 4, row + k, 1);
#    else
        pack_load(X, 8, to, row + k, 0);
#    endif
    } else {
#    pragma unroll
        for (u32 e = 0; e < 8; e++)
            to[e] = k + e < depth ? pack_get(X, row[(i64)(k + e) * step]) : 0.0f;
    }
}

static inline void multiply(sum_t (*sums)[ROWS][COLUMNS], const X *const *x, i64 step, const chunk *w, const f32 *zero, u32 k,
                            u32 depth)
{
#    pragma unroll
    for (u32 piece = 0; piece < CHUNK / 8; piece++) {
        f32 weights[COLUMNS][8];
#    pragma unroll
        for (u32 j = 0; j < COLUMNS; j++)
            decode(weights[j], &w[j], piece, zero[j]);
#    pragma unroll
        for (u32 i = 0; i < ROWS; i++) {
            f32 v[8];
            load_x(v, x[i], step, k + piece * 8, depth);
#    pragma unroll
            for (u32 j = 0; j < COLUMNS; j++)
#    pragma unroll
                for (u32 e = 0; e < 8; e++)
                    (*sums)[i][j] = fma(weights[j][e], v[e], (*sums)[i][j]);
        }
    }
}
#endif

static inline void clear(sum_t (*sums)[ROWS][COLUMNS])
{
#pragma unroll
    for (u32 i = 0; i < ROWS; i++)
#pragma unroll
        for (u32 j = 0; j < COLUMNS; j++)
            (*sums)[i][j] = 0;
}

kernel block(WARPS * 32) max_registers(ROWS > 2 ? 255 : ROWS == 2 ? 200 : 128) void linear_rows(const X *restrict x, POINTERS(const weight_t, weight),
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
    corner c = corner_of(&l, block_x(), WARPS * COLUMNS);
    u32 n = FIELD(l, c.which, n), first = c.column + warp() * COLUMNS;
    const weight_t *w = OF(c.which, weight);
    const weight_t *from[COLUMNS];
#ifndef OUT_i32
    const SCALE *s = OF(c.which, scale);
    i64 scale_step = FIELD(l, c.which, scale[0]), group_step = FIELD(l, c.which, scale[1]);
#endif
#ifdef HAS_ZERO
    const zero_t *z = OF(c.which, zero);
    i64 zero_steps[2] = {FIELD(l, c.which, zero[0]), FIELD(l, c.which, zero[1])};
#else
    const zero_t *z = NULL;
    i64 zero_steps[2] = {0, 0};
#endif
#pragma unroll
    for (u32 j = 0; j < COLUMNS; j++)
        from[j] = w + (i64)min(first + j, n - 1) * FIELD(l, c.which, weight);

    for (u32 top = block_y() * ROWS; top < l.m; top += grid_dim_y() * ROWS) {
        const X *rows[ROWS];
        sum_t sums[ROWS][COLUMNS];
        clear(&sums);
#pragma unroll
        for (u32 i = 0; i < ROWS; i++)
            rows[i] = x + (i64)min(top + i, l.m - 1) * l.x[0];
        for (u32 k = lane() * CHUNK; k < l.k; k += 32 * CHUNK) {
            chunk weights[COLUMNS];
            f32 zeros[COLUMNS];
            i64 group = GROUPED ? (i64)(k >> l.group_shift) : 0;
#pragma unroll
            for (u32 j = 0; j < COLUMNS; j++) {
                weights[j] = load_chunk(from[j], k, l.k);
                zeros[j] = zero_of(z, (i64)min(first + j, n - 1) * zero_steps[0] + group * zero_steps[1]);
            }
#if !defined(OUT_i32) && !defined(X_i8)
            if (GROUPED) {
                f32 scales[COLUMNS], parts[ROWS][COLUMNS];
                clear(&parts);
#pragma unroll
                for (u32 j = 0; j < COLUMNS; j++)
                    scales[j] = pack_get(SCALE, s[(i64)min(first + j, n - 1) * scale_step + group * group_step]);
                multiply(&parts, rows, l.x[1], weights, zeros, k, l.k);
#pragma unroll
                for (u32 i = 0; i < ROWS; i++)
#pragma unroll
                    for (u32 j = 0; j < COLUMNS; j++)
                        sums[i][j] = fma(scales[j], parts[i][j], sums[i][j]);
                continue;
            }
#endif
            multiply(&sums, rows, l.x[1], weights, zeros, k, l.k);
        }
        // A lane finishes and stores one result.
        sum_t mine = 0;
#pragma unroll
        for (u32 i = 0; i < ROWS; i++)
#pragma unroll
            for (u32 j = 0; j < COLUMNS; j++) {
                sum_t all = warp_sum(sums[i][j]);
                if (lane() == i * COLUMNS + j)
                    mine = all;
            }
        u32 row = top + lane() / COLUMNS, column = first + lane() % COLUMNS;
        if (lane() < ROWS * COLUMNS && row < l.m && column < n) {
            OUT *to = OF(c.which, out) + ((i64)row * FIELD(l, c.which, out[0]) + (i64)column * FIELD(l, c.which, out[1]));
#ifdef OUT_i32
            *to = mine;
#else
            f32 result = (f32)mine, token = 1.0f;
#    ifdef HAS_X_SCALE
            token = x_scale[(i64)row * l.x_scale];
#    endif
            if (!GROUPED)
                result *= token * pack_get(SCALE, s[(i64)column * scale_step]);
#    ifdef HAS_BIAS
            result += OF(c.which, bias)[(i64)column * FIELD(l, c.which, bias)];
#    endif
            *to = pack_put(OUT, activate(result));
#endif
        }
    }
}
