// log1p of f32 in Kiln C, as log_f32.h; host compilers read the same text.
#ifndef KILN_LIB_LOG1P_F32_H
#define KILN_LIB_LOG1P_F32_H
#include "log_f32.h"

// 1 + x = 2^k (1 + f): f = 2^-k x + (2^-k - 1), where both terms are exact and only their sum rounds.
static inline f32 k_log1p_f32(f32 x)
{
    f32 u = 1.0f + x;
    i32 e = (i32)(bits_f32(u) - 0x3f3504f3u) >> 23;
    f32 scale = f32_from_bits(0x3f800000u - ((u32)e << 23)), k = (f32)e;
    f32 a = x * scale, b = scale - 1.0f;
    f32 f = a + b, back = f - a;
    f32 lost = (a - (f - back)) + (b - back);
    bool is_big = x > 1e9f; // 2^-k may not exist; the 1 does not count
    f = is_big ? f32_from_bits(bits_f32(u) - ((u32)e << 23)) - 1.0f : f;
    lost = is_big ? 0.0f : lost;
    f32 tail = k_log_tail_f32(f);
    tail += fma(lost, -f, lost); // log(1 + f + lost) = log(1 + f) + lost / (1 + f)
    f32 high = k * 0.693145752f, sum = high + f;
    f32 low = fma(k, 1.42860677e-6f, tail) + ((high - sum) + f);
    f32 y = k_log_edges_f32(u, sum + low);
    return fabs(x) < 2e-8f ? x : y;
}
#endif
