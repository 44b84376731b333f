// Products of short sums, of operands that lie anywhere: a thread has a column, its numbers of B in registers; a block's
// ROWS rows of A pass by in shared memory. What takes the time is to store the result, neighbours by neighbouring lanes.
//
// Pointers and `layout` as in gemm_strided.c. Types of 16 bits, and f32 for tf32, whose products are exact then.
#include <kiln/kernel.h>

tune(DEPTH, 8, 16, 24, 32); // numbers of a sum, filled up with zeros
tune(ROWS, 64, 16);
tune(GROUP, 8);
enum { BM = ROWS, BN = 128, THREADS = BN, AT_ONCE = 4 };
#include "gemm_types.h"

#if defined(TYPE_tf32)
#define WIDEN(x) (x)
#else
#define WIDEN(x) f32(x)
#endif

typedef struct layout {
    u64 first[4];
    i64 steps[7], next[3];
} layout;

kernel block(THREADS) void gemm(const in_t *a, const in_t *b, out_t *out,
#if HAS_BIAS
                                const f32 *bias,
#endif
                                u32 m, u32 n, u32 k, layout l)
{
    _Alignas(16) shared f32 left[ROWS][DEPTH];
    if (target_sm() >= 90) {
        next_kernel_launch();
        previous_kernel_wait();
    }
    i64 batch = block_y();
    u32 columns = (n + BN - 1) / BN, first = block_x() / columns * ROWS, end = min(first + ROWS, m);
    u32 column = block_x() % columns * BN + thread_x();
    const in_t *x = a + ((i64)l.first[0] + batch * l.next[0]);
    const in_t *y = b + ((i64)l.first[1] + batch * l.next[1] + (i64)min(column, n - 1) * l.steps[3]);
    f32 right[DEPTH];
#pragma unroll
    for (u32 p = 0; p < DEPTH; p++)
        right[p] = p < k ? WIDEN(y[(i64)p * l.steps[2]]) : 0.0f;
#pragma unroll 4
    for (u32 e = thread_x(); e < ROWS * DEPTH; e += THREADS) {
        u32 row = first + e / DEPTH, p = e % DEPTH;
        left[e / DEPTH][p] = row < m && p < k ? WIDEN(x[(i64)row * l.steps[0] + (i64)p * l.steps[1]]) : 0.0f;
    }
    barrier();
    if (column >= n)
        return;
    out_t *z = out + ((i64)l.first[2] + batch * l.next[2] + (i64)first * l.steps[4] + (i64)column * l.steps[5]);
#if HAS_BIAS
    f32 added = bias[(i64)l.first[3] + (i64)column * l.steps[6]];
#endif
    for (u32 row = 0; row < end - first; row += AT_ONCE) {
        f32 sum[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            sum[i] = 0.0f;
#pragma unroll
            for (u32 p = 0; p < DEPTH; p += 4) {
                f32x4 v = *(const f32x4 *)&left[row + i][p];
                sum[i] = fma(v.w, right[p + 3], fma(v.z, right[p + 2], fma(v.y, right[p + 1], fma(v.x, right[p], sum[i]))));
            }
#if HAS_BIAS
            sum[i] = epilogue(sum[i], added);
#endif
        }
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++)
            if (first + row + i < end)
                z[(i64)(row + i) * l.steps[4]] = TO_OUT(sum[i]);
    }
}
