// What stands in front of the products of kiln_matmul_backward: the gradient by the sum, g = dout * derivative of the
// activation * factors, and the gradient of the bias, sums over the columns. A block has COLUMNS columns of `chunk` rows,
// and stores its sums in a row of their own; gemm_add.c adds these. A sum is added up in a fixed order. For the gradients
// of factors the sums of the forward product are given, too; they are replaced by what these gradients are sums of.
//
// -D TYPE_… of g, OUT_… of dout and saved, EPILOGUE_…; -D HAS_PRE: `saved` is there; SCALED_A, SCALED_B; -D HAS_G,
// HAS_SUMS, TERMS_A, TERMS_B: what is wanted.
#include <kiln/kernel.h>

tune(GROUP, 8);
enum { BM = 1, BN = 1 };
#include "gemm_types.h"

#if defined(TYPE_f16)
#define TO_IN(x) to_f16(x)
#elif defined(TYPE_f32) || defined(TYPE_tf32)
#define TO_IN(x) (x)
#else
#define TO_IN(x) to_bf16(x)
#endif

enum { WARPS = 8, EACH = 4, COLUMNS = 32 * EACH, THREADS = 32 * WARPS };

typedef struct steps { // elements from row to row and from column to column
    i64 dout[2], saved[2];
    u32 g, sums; // rows
    u32 a_scale, b_scale;
    u32 terms;  // rows
    u64 second; // from the terms of a_scale to those of b_scale
} steps;

// The derivative of the activation where it got x.
static f32 slope(f32 x)
{
#if defined(EPILOGUE_bias_relu)
    return x > 0.0f ? 1.0f : 0.0f;
#elif defined(EPILOGUE_bias_gelu)
    f32 t = tanh(0.7978845608f * (x + 0.044715f * x * x * x));
    f32 square = min(0.134145f * x * x, 1e4f); // beyond, its factor is 0, and infinity is not
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * (0.7978845608f * (1.0f + square));
#elif defined(EPILOGUE_bias_silu)
    f32 s = 1.0f / (1.0f + exp(-x));
    return s * (1.0f + x * (1.0f - s));
#else
    return 1.0f;
#endif
}

kernel block(THREADS) void gemm_backward(const out_t *dout,
#if defined(HAS_PRE)
                                         const out_t *saved,
#endif
#if defined(SCALED_A)
                                         const f32 *a_scale,
#endif
#if defined(SCALED_B)
                                         const f32 *b_scale,
#endif
#if defined(HAS_G)
                                         in_t *g,
#endif
#if defined(HAS_SUMS)
                                         f32 *sums,
#endif
#if defined(TERMS_A) || defined(TERMS_B)
                                         f32 *terms,
#endif
                                         u32 rows, u32 columns, u32 chunk, steps s)
{
    shared f32 of_warps[WARPS][COLUMNS];
    u32 first = block_x() * COLUMNS, begin = block_y() * chunk, end = min(begin + chunk, rows);
    f32 sum[EACH];
    if (target_sm() >= 90) {
        next_kernel_launch();
        previous_kernel_wait();
    }
#pragma unroll
    for (u32 e = 0; e < EACH; e++)
        sum[e] = 0.0f;
    for (u32 row = begin + warp(); row < end; row += WARPS)
#pragma unroll
        for (u32 e = 0; e < EACH; e++) {
            u32 column = first + e * 32 + lane();
            if (column >= columns)
                continue;
            f32 x = FROM_OUT(dout[(i64)row * s.dout[0] + (i64)column * s.dout[1]]);
#if defined(HAS_PRE)
            x *= slope(FROM_OUT(saved[(i64)row * s.saved[0] + (i64)column * s.saved[1]]));
#endif
            sum[e] += x;
            f32 of_row = 1.0f, of_column = 1.0f;
#if defined(SCALED_A)
            of_row = a_scale[(u64)row * s.a_scale];
#endif
#if defined(SCALED_B)
            of_column = b_scale[(u64)column * s.b_scale];
#endif
#if defined(TERMS_A) || defined(TERMS_B)
            f32 *at = terms + ((u64)row * s.terms + column), term = x * *at;
#endif
#if defined(TERMS_A)
            *at = term * of_column;
#endif
#if defined(TERMS_B)
            at[s.second] = term * of_row;
#endif
#if defined(SCALED_A)
            x *= of_row;
#endif
#if defined(SCALED_B)
            x *= of_column;
#endif
#if defined(HAS_G)
            g[(u64)row * s.g + column] = TO_IN(x);
#endif
        }
#if defined(HAS_SUMS)
#pragma unroll
    for (u32 e = 0; e < EACH; e++)
        of_warps[warp()][e * 32 + lane()] = sum[e];
    barrier();
    u32 column = thread_x();
    if (column >= COLUMNS || first + column >= columns)
        return;
    f32 total = of_warps[0][column];
#pragma unroll
    for (u32 w = 1; w < WARPS; w++)
        total += of_warps[w][column];
    sums[(u64)block_y() * s.sums + first + column] = total;
#endif
}
