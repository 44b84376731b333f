// Small products of operands that lie anywhere: a sum by one lane, by a warp (LANES 32) or by a block (128, 512), straight
// from memory. There is nothing to wait for but one answer of memory for every AT_ONCE numbers of a lane.
//
// Pointers and `layout` as in gemm_strided.c. Types of 16 bits, and f32 in place of tf32.
#include <kiln/kernel.h>

tune(LANES, 1, 32, 128, 512); // that share a sum
tune(GROUP, 8);
enum { BM = 1, BN = 1, THREADS = LANES > 128 ? LANES : 128, AT_ONCE = 8 };
#include "gemm_types.h"

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
    if (target_sm() >= 90) {
        next_kernel_launch();
        previous_kernel_wait();
    }
    i64 batch = block_y();
    u32 number = (block_x() * THREADS + thread_x()) / LANES, row = number / n, column = number - row * n;
    bool is_there = row < m;
    row = is_there ? row : 0;
    const in_t *x = a + ((i64)l.first[0] + batch * l.next[0] + (i64)row * l.steps[0]);
    const in_t *y = b + ((i64)l.first[1] + batch * l.next[1] + (i64)column * l.steps[3]);
    f32 sum = 0.0f;
    for (u32 at = thread_x() % LANES; at < k; at += AT_ONCE * LANES) {
        f32 left[AT_ONCE], right[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            u32 p = min(at + i * LANES, k - 1);
            left[i] = f32(x[(i64)p * l.steps[1]]);
            right[i] = f32(y[(i64)p * l.steps[2]]);
        }
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++)
            sum = at + i * LANES < k ? fma(left[i], right[i], sum) : sum;
    }
    if (LANES == 32)
        sum = warp_sum(sum);
    if (LANES == THREADS)
        sum = block_sum(sum);
    if (!is_there || thread_x() % LANES != 0)
        return;
#if HAS_BIAS
    sum = epilogue(sum, bias[(i64)l.first[3] + (i64)column * l.steps[6]]);
#endif
    out[(i64)l.first[2] + batch * l.next[2] + (i64)row * l.steps[4] + (i64)column * l.steps[5]] = TO_OUT(sum);
}
