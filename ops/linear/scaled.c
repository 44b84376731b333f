// Sums of int8 products, [M,N] of i32 (the integer product of ops/matmul), become results: times the scale of a column and
// that of a row of x, a bias, an activation. A thread has four neighbours of ROWS rows, whose loads are on their way
// together. The numbers are those of tensor.c.
#include <kiln/overlap.h>

tune(X_PACKED, 1, 0); // N is a multiple of four, and rows of the result are contiguous and start at multiples of four elements
tune(ROWS, 4);
#include "layer.h"
KERNEL_OVERLAPS

PACK(OUT, 4)

kernel block(256) void linear_scaled(const i32 *restrict sums, const SCALE *restrict scale,
#ifdef HAS_BIAS
                                     const f32 *restrict bias,
#endif
#ifdef HAS_X_SCALE
                                     const f32 *restrict x_scale,
#endif
                                     OUT *restrict out, struct linear l)
{
    kernel_begin();
    u32 n = l.layers[0].n, per_row = (n + 3) / 4, at = block_x() * 256 + thread_x();
    u32 first = at % per_row * 4, top = at / per_row * ROWS; // rows beside each other: columns are read once
    i32 own[ROWS][4];
    f32 factors[4], added[4];
    if (top >= l.m)
        return;
#pragma unroll
    for (u32 i = 0; i < ROWS; i++) {
        const i32 *from = sums + (u64)min(top + i, l.m - 1) * n + first;
        if (X_PACKED) {
            i32x4 v = *(const i32x4 *)(const void *)from;
            own[i][0] = v.x;
            own[i][1] = v.y;
            own[i][2] = v.z;
            own[i][3] = v.w;
        } else {
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                own[i][e] = first + e < n ? from[e] : 0;
        }
    }
#pragma unroll
    for (u32 e = 0; e < 4; e++) {
        i64 column = (i64)min(first + e, n - 1);
        factors[e] = pack_get(SCALE, scale[column * l.layers[0].scale[0]]);
        added[e] = 0.0f;
#ifdef HAS_BIAS
        added[e] = bias[column * l.layers[0].bias];
#endif
    }
#pragma unroll
    for (u32 i = 0; i < ROWS; i++) {
        if (top + i >= l.m)
            continue;
        f32 token = 1.0f, results[4];
#ifdef HAS_X_SCALE
        token = x_scale[(i64)(top + i) * l.x_scale];
#endif
        OUT *to = out + ((i64)(top + i) * l.layers[0].out[0] + (i64)first * l.layers[0].out[1]);
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
            f32 v = (f32)own[i][e] * (token * factors[e]);
#ifdef HAS_BIAS
            v += added[e];
#endif
            results[e] = activate(v);
            if (!X_PACKED && first + e < n)
                to[(i64)e * l.layers[0].out[1]] = pack_put(OUT, results[e]);
        }
        if (X_PACKED)
            pack_store(OUT, 4, to, 0, results);
    }
}
