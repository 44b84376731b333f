// out[m, n] = x[m, :] * weights[n, :] for any number of rows, on every device. A block has BM rows of x and BN rows
// of weights; steps of 128 elements, which are whole units in every format, go through shared memory as f32.
// A sum is fma by fma in the order of K.
#include "blocks.h"
#include "sizes.h"

#ifndef T
#    define T   f16
#    define OUT f16
#endif

enum {
    BM = 32,
    BN = 32,
    STEP = 128,
    THREADS = 128,
    EACH_M = 2, // results of a thread
    EACH_N = 4,
    STEP_UNITS = STEP / UNIT,
    LINE = BN + 1 // keeps the banks apart
};

kernel block(THREADS) void gguf_tile(const T *restrict x, const u8 *restrict w, OUT *restrict out,
#ifdef BIAS
                                     const BIAS *restrict bias,
#endif
                                     struct sizes s)
{
    shared f32 xs[STEP][LINE], ws[STEP][LINE];
    u64 tiles = (s.n + BN - 1) / BN, row = block_x() / tiles * BM, column = block_x() % tiles * BN, k = s.units * UNIT;
    u32 own_m = thread_x() / 8, own_n = thread_x() % 8;
    f32 sum[EACH_M][EACH_N];
    EACH(i, EACH_M)
        EACH(j, EACH_N)
            sum[i][j] = 0;
    for (u64 at = 0; at < k; at += STEP) {
#pragma unroll 1
        for (u32 i = thread_x(); i < BM * STEP; i += THREADS) {
            u64 m = row + i / STEP, e = at + i % STEP;
            xs[i % STEP][i / STEP] = m < s.m && e < k ? pack_get(T, x[(i64)m * s.x_row + (i64)e * s.x_step]) : 0.0f;
        }
#pragma unroll 1
        for (u32 i = thread_x(); i < BN * STEP_UNITS; i += THREADS) {
            u32 line = i / STEP_UNITS;
            u64 index = at / UNIT + i % STEP_UNITS, block = index / UNITS;
            u32 part = (u32)(index % UNITS), place = (u32)(block * SIZE + unit_first(part) - at);
            bool is_inside = index < s.units;
            if (is_inside) {
                unit u = unit_of(raw_of(w + (i64)min(column + line, s.n - 1) * s.w_row + block * BYTES, part), part);
                EACH(e, UNIT)
                    ws[place + e / RUN * APART + e % RUN][line] = unit_get(&u, e);
            }
        }
        barrier();
        u32 steps = (u32)min(k - at, (u64)STEP);
        for (u32 e = 0; e < steps; e++)
            EACH(i, EACH_M)
                EACH(j, EACH_N)
                    sum[i][j] = fma(xs[e][own_m + i * 16], ws[e][own_n + j * 8], sum[i][j]);
        barrier();
    }
    EACH(i, EACH_M)
        EACH(j, EACH_N) {
            u64 m = row + own_m + i * 16, n = column + own_n + j * 8;
            if (m < s.m && n < s.n) {
                f32 all = sum[i][j];
#ifdef BIAS
                all += pack_get(BIAS, bias[(i64)n * s.bias_step]);
#endif
                out[(i64)m * s.out_row + (i64)n * s.out_step] = pack_put(OUT, all);
            }
        }
}
