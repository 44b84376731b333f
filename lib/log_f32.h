// log, log2, log10, log1p of f32 in Kiln C; host compilers read the same text.
//
// x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and log(1 + f) is a polynomial. The largest parts are added without
// losing what rounds away.
#ifndef KILN_LIB_LOG_F32_H
#define KILN_LIB_LOG_F32_H
#include "core_f32.h"

// x = k, y = f
static inline f32x2 k_log_split_f32(f32 x)
{
    bool is_small = x < 1.17549435e-38f;
    u32 bits = bits_f32(is_small ? x * 8388608.0f : x);
    i32 e = (i32)(bits - 0x3f3504f3u) >> 23;
    f32 k = (f32)(e - (is_small ? 23 : 0));
    return (f32x2){k, f32_from_bits(bits - ((u32)e << 23)) - 1.0f};
}

// y where 0 < x < infinity; else what C says
static inline f32 k_log_edges_f32(f32 x, f32 y)
{
    f32 edge = x == 0 ? -KILN_INF32 : x < 0 ? KILN_NAN32 : x;
    return x > 0 && x < KILN_INF32 ? y : edge;
}

// log(1 + f) - f
static inline f32 k_log_tail_f32(f32 f)
{
    f32 q = fma(-0.0786258951f, f, 0.1288407f);
    q = fma(q, f, -0.131285489f);
    q = fma(q, f, 0.141808122f);
    q = fma(q, f, -0.16624552f);
    q = fma(q, f, 0.20002304f);
    q = fma(q, f, -0.250008106f);
    q = fma(q, f, 0.333333164f);
    q = fma(q, f, -0.5f);
    return q * (f * f);
}

static inline f32 k_log_f32(f32 x)
{
    f32x2 s = k_log_split_f32(x);
    f32 high = s.x * 0.693145752f, sum = high + s.y;
    f32 low = fma(s.x, 1.42860677e-6f, k_log_tail_f32(s.y)) + ((high - sum) + s.y);
    return k_log_edges_f32(x, sum + low);
}

static inline f32 k_log2_f32(f32 x)
{
    f32x2 s = k_log_split_f32(x);
    f32 f = s.y;
    f32 q = fma(-0.113049544f, f, 0.187400937f);
    q = fma(q, f, -0.190364257f);
    q = fma(q, f, 0.204364777f);
    q = fma(q, f, -0.23968026f);
    q = fma(q, f, 0.28858152f);
    q = fma(q, f, -0.360693991f);
    q = fma(q, f, 0.480897993f);
    q = fma(q, f, -0.721347392f);
    f32 p = f * 1.44269502f, low = fma(f, 1.44269502f, -p);
    low = fma(f, 1.92596303e-8f, low);
    f32 sum = s.x + p, square = f * f;
    low += (s.x - sum) + p;
    low = fma(q, fma(f, f, -square), low);
    return k_log_edges_f32(x, sum + fma(q, square, low));
}

static inline f32 k_log10_f32(f32 x)
{
    f32x2 s = k_log_split_f32(x);
    f32 f = s.y;
    f32 q = fma(-0.0333987698f, f, 0.0562084541f);
    q = fma(q, f, -0.0574872382f);
    q = fma(q, f, 0.0615671352f);
    q = fma(q, f, -0.0721311569f);
    q = fma(q, f, 0.0868682712f);
    q = fma(q, f, -0.108580656f);
    q = fma(q, f, 0.144764796f);
    q = fma(q, f, -0.217147186f);
    f32 p = f * 0.434294492f, low = fma(f, 0.434294492f, -p);
    low = fma(f, -1.010305e-8f, low);
    low = fma(s.x, 4.60503907e-6f, low);
    f32 high = s.x * 0.301025391f, sum = high + p;
    low += (high - sum) + p;
    return k_log_edges_f32(x, sum + fma(q, f * f, low));
}

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
