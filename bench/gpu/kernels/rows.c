// Row kernels that read every value once: one block a row, the row stays in registers. COLS (a multiple of 4) is known at compile time.
#include <kiln/kernel.h>

#ifndef COLS
#    define COLS 4096
#endif
tune(THREADS, 256, 128, 192, 512, 1024);
enum { GROUPS = COLS / 4, PER = (GROUPS + THREADS - 1) / THREADS };

#define FOR_GROUPS(p)                                                                              \
    _Pragma("unroll") for (u32 p = 0; p < PER; p++)                                                \
        if (GROUPS % THREADS == 0 || thread_x() + p * THREADS < GROUPS)

kernel block(THREADS) void softmax(const f32 *restrict x, f32 *restrict out)
{
    const f32x4 *from = (const f32x4 *)x + (u64)block_x() * GROUPS + thread_x();
    f32x4 *to = (f32x4 *)out + (u64)block_x() * GROUPS + thread_x();
    f32x4 v[PER];
    f32 largest = -INFINITY, sum = 0;
    FOR_GROUPS(p)
        v[p] = from[p * THREADS];
    FOR_GROUPS(p)
        largest = max(largest, max(max(v[p].x, v[p].y), max(v[p].z, v[p].w)));
    largest = block_max(largest);
    FOR_GROUPS(p) {
        v[p].x = exp(v[p].x - largest);
        v[p].y = exp(v[p].y - largest);
        v[p].z = exp(v[p].z - largest);
        v[p].w = exp(v[p].w - largest);
        sum += (v[p].x + v[p].y) + (v[p].z + v[p].w);
    }
    f32 scale = 1.0f / block_sum(sum);
    FOR_GROUPS(p) {
        f32x4 r = {v[p].x * scale, v[p].y * scale, v[p].z * scale, v[p].w * scale};
        to[p * THREADS] = r;
    }
}

kernel block(THREADS) void layer_norm(const f32 *restrict x, const f32 *restrict gain, const f32 *restrict bias,
                                      f32 *restrict out, f32 eps)
{
    const f32x4 *from = (const f32x4 *)x + (u64)block_x() * GROUPS + thread_x();
    f32x4 *to = (f32x4 *)out + (u64)block_x() * GROUPS + thread_x();
    f32x4 v[PER];
    f32 sum = 0, squares = 0;
    FOR_GROUPS(p)
        v[p] = from[p * THREADS];
    FOR_GROUPS(p)
        sum += (v[p].x + v[p].y) + (v[p].z + v[p].w);
    f32 mean = block_sum(sum) / (f32)COLS;
    FOR_GROUPS(p) {
        f32 a = v[p].x - mean, b = v[p].y - mean, c = v[p].z - mean, d = v[p].w - mean;
        squares += (a * a + b * b) + (c * c + d * d);
    }
    f32 scale = rsqrt(block_sum(squares) / (f32)COLS + eps);
    FOR_GROUPS(p) {
        f32x4 g = ((const f32x4 *)gain)[thread_x() + p * THREADS], b = ((const f32x4 *)bias)[thread_x() + p * THREADS];
        f32x4 r = {(v[p].x - mean) * scale * g.x + b.x, (v[p].y - mean) * scale * g.y + b.y,
                   (v[p].z - mean) * scale * g.z + b.z, (v[p].w - mean) * scale * g.w + b.w};
        to[p * THREADS] = r;
    }
}

kernel block(THREADS) void rms_norm(const f32 *restrict x, const f32 *restrict gain, f32 *restrict out, f32 eps)
{
    const f32x4 *from = (const f32x4 *)x + (u64)block_x() * GROUPS + thread_x();
    f32x4 *to = (f32x4 *)out + (u64)block_x() * GROUPS + thread_x();
    f32x4 v[PER];
    f32 squares = 0;
    FOR_GROUPS(p)
        v[p] = from[p * THREADS];
    FOR_GROUPS(p)
        squares += (v[p].x * v[p].x + v[p].y * v[p].y) + (v[p].z * v[p].z + v[p].w * v[p].w);
    f32 scale = rsqrt(block_sum(squares) / (f32)COLS + eps);
    FOR_GROUPS(p) {
        f32x4 g = ((const f32x4 *)gain)[thread_x() + p * THREADS];
        f32x4 r = {v[p].x * scale * g.x, v[p].y * scale * g.y, v[p].z * scale * g.z, v[p].w * scale * g.w};
        to[p * THREADS] = r;
    }
}
