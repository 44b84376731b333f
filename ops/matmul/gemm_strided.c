// C[M,N] = A * B on every device where nothing need be contiguous: each operand and the result has
// a step from row to row and one from column to column, of any length and sign. Each thread keeps
// 4 x 4 sums, fed from shared memory. A sum is fma by fma in the order of K, so every device gives
// the same bits.
//
// Pointers are to the start of each buffer: steps that go backwards stay behind it.
//
// -D BLOCKED: each 128 products of a sum are times a number of a_scale and one of b_scale, and results
// are f32 (scaled_sm90.c has the same).
#include <kiln/kernel.h>

tune(TILE, 32);
tune(GROUP, 8, 1);
enum { BM = TILE, BN = TILE };
#include "gemm_types.h"

enum { STEP = 16, EACH = 4, ROW = TILE / EACH, THREADS = ROW * ROW };

#if defined(TYPE_s8) || defined(TYPE_tf32) || defined(TYPE_f32)
#    define WIDEN(x) ((acc_t)(x))
#else
#    define WIDEN(x) f32(x)
#endif

static acc_t product(acc_t x, acc_t y, acc_t sum)
{
#if defined(TYPE_s8)
    return sum + x * y;
#else
    return fma(x, y, sum);
#endif
}

// `steps` are those of a's rows, a's columns, b's rows, b's columns, out's rows, out's columns, of
// the bias; `first` and `next` those of a, b and out, first[3] of the bias.
typedef struct layout {
    u64 first[4];
    i64 steps[7], next[3];
} layout;

// Elements from one row, block of K, and block of columns of a_scale and b_scale to the next.
typedef struct scales_at {
    u32 a_row, a_k, b_column, b_k;
} scales_at;

kernel block(THREADS) void gemm(const in_t *a, const in_t *b, out_t *out,
#if HAS_BIAS
                                const f32 *bias,
#endif
#if defined(BLOCKED)
                                const f32 *a_scale, const f32 *b_scale, scales_at s,
#endif
                                u32 m, u32 n, u32 k, layout l)
{
    shared acc_t left[STEP][TILE], right[STEP][TILE];
    if (target_sm() >= 90) {
        next_kernel_launch();
        previous_kernel_wait();
    }
    i64 batch = block_y();
    u32x2 corner = tile_at(block_x(), (m + BM - 1) / BM, (n + BN - 1) / BN);
    const in_t *x = a + ((i64)l.first[0] + batch * l.next[0]),
               *y = b + ((i64)l.first[1] + batch * l.next[1]);
    u32 row = thread_x() / ROW, column = thread_x() % ROW;
    acc_t sum[EACH][EACH];
#if defined(BLOCKED)
    f32 total[EACH][EACH] = {{0}}; // of the blocks before
#endif
#pragma unroll
    for (u32 i = 0; i < EACH; i++)
#pragma unroll
        for (u32 j = 0; j < EACH; j++)
            sum[i][j] = 0;

    for (u32 at = 0; at < k; at += STEP) {
        for (u32 e = thread_x(); e < STEP * TILE; e += THREADS) {
            u32 p = e / TILE, q = e % TILE;
            bool has_x = at + p < k && corner.x + q < m, has_y = at + p < k && corner.y + q < n;
            left[p][q] =
                has_x ? WIDEN(x[(i64)(corner.x + q) * l.steps[0] + (i64)(at + p) * l.steps[1]])
                      : (acc_t)0;
            right[p][q] =
                has_y ? WIDEN(y[(i64)(at + p) * l.steps[2] + (i64)(corner.y + q) * l.steps[3]])
                      : (acc_t)0;
        }
        barrier();
        for (u32 p = 0; p < STEP; p++)
#pragma unroll
            for (u32 i = 0; i < EACH; i++)
#pragma unroll
                for (u32 j = 0; j < EACH; j++)
                    sum[i][j] =
                        product(left[p][row + i * ROW], right[p][column + j * ROW], sum[i][j]);
        barrier();
#if defined(BLOCKED)
        if (at % 128 + STEP < 128 && at + STEP < k)
            continue;
#pragma unroll
        for (u32 i = 0; i < EACH; i++)
#pragma unroll
            for (u32 j = 0; j < EACH; j++) {
                u64 of_a = min(corner.x + row + i * ROW, m - 1), block = at / 128;
                u64 of_b = min(corner.y + column + j * ROW, n - 1) / 128;
                f32 factor = a_scale[of_a * s.a_row + block * s.a_k] *
                             b_scale[of_b * s.b_column + block * s.b_k];
                total[i][j] = fma((f32)sum[i][j], factor, total[i][j]);
                sum[i][j] = 0;
            }
#endif
    }

    out_t *z = out + ((i64)l.first[2] + batch * l.next[2]);
#pragma unroll
    for (u32 i = 0; i < EACH; i++)
#pragma unroll
        for (u32 j = 0; j < EACH; j++) {
            u32 to_row = corner.x + row + i * ROW, to_column = corner.y + column + j * ROW;
            if (to_row >= m || to_column >= n)
                continue;
#if defined(BLOCKED)
            z[(i64)to_row * l.steps[4] + (i64)to_column * l.steps[5]] = total[i][j];
#else
            acc_t result = sum[i][j];
#if HAS_BIAS
            result = epilogue(result, bias[(i64)l.first[3] + (i64)to_column * l.steps[6]]);
#endif
            z[(i64)to_row * l.steps[4] + (i64)to_column * l.steps[5]] = TO_OUT(result);
#endif
        }
}
