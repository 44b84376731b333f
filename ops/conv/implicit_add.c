// Adds what the parts of a convolution that was cut along its sum have stored (implicit_sm90.c,
// PARTS), in their order; then bias and activation. A thread has four channels of a place.
#include <kiln/pack.h>

#ifdef T_bf16
#    define T    bf16
#    define PAIR pack_bf16
#else
#    define T    f16
#    define PAIR pack_f16
#endif
#ifndef BIAS
#    define BIAS f32
#endif
#include "activate.h"

enum { THREADS = 128, AHEAD = 4 }; // parts that are loaded at the same time

kernel block(THREADS) void conv_add(const f32 *restrict parts, T *restrict to,
#ifdef HAS_BIAS
                                    const BIAS *restrict bias, i64 bias_step,
#endif
                                    u32 count, u32 channels, u32 to_w, u32 to_h, u64 places, i64 step_w,
                                    i64 step_h, i64 step_n)
{
    u64 at = (u64)block_x() * THREADS + thread_x(), place = at / (channels / 4);
    u32 channel = (u32)(at - place * (channels / 4)) * 4;
    next_kernel_launch();
    previous_kernel_wait();
    if (place >= places)
        return;
    const f32 *from = parts + (place * channels + channel);
    f32x4 sum = {0, 0, 0, 0};
    for (u32 p = 0; p < count; p += AHEAD) {
        f32x4 more[AHEAD];
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++)
            if (p + i < count)
                more[i] = *(const f32x4 *)(from + (p + i) * places * channels);
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++)
            if (p + i < count)
                sum = (f32x4){sum.x + more[i].x, sum.y + more[i].y, sum.z + more[i].z, sum.w + more[i].w};
    }
    f32 all[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
#ifdef HAS_BIAS
        all[i] += pack_get(BIAS, bias[(i64)(channel + i) * bias_step]);
#endif
        all[i] = activate(all[i]);
    }
    u64 row = place / to_w, image = row / to_h;
    T *out = to + ((i64)(place - row * to_w) * step_w + (i64)(row - image * to_h) * step_h +
                   (i64)image * step_n + channel);
    *(u32x2 *)out = (u32x2){PAIR(all[0], all[1]), PAIR(all[2], all[3])};
}
