// Adds what the parts of a product that was cut along K have stored (gemm_sm90.c, PARTS), in the
// order of K; then bias, activation and the result's type. A thread has four neighbouring numbers
// of a row.
//
// -D TYPE_bf16 (f16, tf32, e4m3, s8), -D OUT_bf16 (f16, f32, s32), -D EPILOGUE_bias (bias_relu …);
// IS_LOOSE: rows of the result, or the bias, do not begin at multiples of four numbers.
#include <kiln/kernel.h>

tune(IS_LOOSE, 0, 1);
tune(GROUP, 8);
enum { BM = 1, BN = 4 };
#include "gemm_types.h"

enum { THREADS = 128, AHEAD = 8 }; // parts that are loaded at the same time

// `pitch` is that of the parts, a multiple of four; a part is `rows` * pitch numbers.
kernel block(THREADS) void gemm_add(const acc_t *parts, out_t *out,
#if HAS_BIAS
                                    const f32 *bias,
#endif
                                    u32 rows, u32 columns, u32 count, u32 pitch, u32 out_pitch)
{
#if !HAS_BIAS
    const f32 *bias = (const f32 *)0;
#endif
    u32 quads = (columns + 3) / 4;
    u64 at = (u64)block_x() * THREADS + thread_x();
    u32 row = (u32)(at / quads), column = (u32)(at % quads) * 4;
    if (target_sm() >= 90) {
        next_kernel_launch();
        previous_kernel_wait();
    }
    if (row >= rows)
        return;
    u64 part = (u64)rows * pitch;
    const acc_t *from = parts + ((u64)row * pitch + column);
    acc4 sum = *(const acc4 *)from;
    for (u32 p = 1; p < count; p += AHEAD) {
        acc4 more[AHEAD];
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++)
            if (p + i < count)
                more[i] = *(const acc4 *)(from + (p + i) * part);
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++)
            if (p + i < count)
                sum = plus(sum, more[i]);
    }
    acc_t all[4] = {sum.x, sum.y, sum.z, sum.w};
    out_t *to = out + ((u64)row * out_pitch + column);
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        if (column + i < columns)
            all[i] = finished(all[i], bias, column + i);
    if (IS_LOOSE) {
#pragma unroll
        for (u32 i = 0; i < 4; i++)
            if (column + i < columns)
                to[i] = TO_OUT(all[i]);
        return;
    }
#if defined(PACK)
    *(u32x2 *)to = (u32x2){PACK(all[0], all[1]), PACK(all[2], all[3])};
#else
    *(acc4 *)to = (acc4){all[0], all[1], all[2], all[3]};
#endif
}
