// log, log2, log10, log1p in Kiln C; host compilers read the same text.
//
// x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2). f32: log(1 + f) is a polynomial; f64: with s = f / (2 + f) it is
// f - f^2/2 + s (f^2/2 + R(s^2)). The largest parts are added without losing what rounds away.
#ifndef KILN_LIB_LOG_H
#define KILN_LIB_LOG_H
#include "core.h"

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
    f32 sum = s.x + p;
    low += (s.x - sum) + p;
    return k_log_edges_f32(x, sum + fma(q, f * f, low));
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

// k in x, f in y
static inline f64x2 k_log_split_f64(f64 x)
{
    bool is_small = x < 2.2250738585072014e-308;
    u64 bits = bits_f64(is_small ? x * 0x1p54 : x);
    i64 e = (i64)(bits - 0x3fe6a09e667f3bcdu) >> 52;
    f64 k = (f64)(i32)(e - (is_small ? 54 : 0));
    return (f64x2){k, f64_from_bits(bits - ((u64)e << 52)) - 1.0};
}

static inline f64 k_log_edges_f64(f64 x, f64 y)
{
    f64 edge = x == 0 ? -KILN_INF64 : x < 0 ? KILN_NAN64 : x;
    return x > 0 && x < KILN_INF64 ? y : edge;
}

// log(1 + f) as an unevaluated sum
static inline f64x2 k_log1p_parts_f64(f64 f)
{
    f64 s = f / (2.0 + f), z = s * s;
    f64 q = fma(0.132528444887115626, z, 0.132499520321288727);
    q = fma(q, z, 0.153870981009340962);
    q = fma(q, z, 0.181817754980532126);
    q = fma(q, z, 0.222222226488838465);
    q = fma(q, z, 0.285714285690720604);
    q = fma(q, z, 0.400000000000062916);
    q = fma(q, z, 0.66666666666666663);
    f64 square = 0.5 * f * f, lost = fma(0.5 * f, f, -square);
    f64x2 sum = k_sum_f64(f, -square);
    return (f64x2){sum.x, sum.y + (s * fma(z, q, square) - lost)};
}

static inline f64 k_log_f64(f64 x)
{
    f64x2 s = k_log_split_f64(x), p = k_log1p_parts_f64(s.y);
    f64x2 sum = k_sum_f64(s.x * 0x1.62e42fefa38p-1, p.x);
    return k_log_edges_f64(x, sum.x + (sum.y + fma(s.x, 0x1.ef35793c7673p-45, p.y)));
}

static inline f64 k_log2_f64(f64 x)
{
    f64x2 s = k_log_split_f64(x), p = k_log1p_parts_f64(s.y);
    f64x2 high = k_product_f64(p.x, 0x1.71547652b82fep+0);
    f64x2 sum = k_sum_f64(s.x, high.x);
    f64 low = fma(p.x, 0x1.777d0ffda0d24p-56, high.y) + p.y * 0x1.71547652b82fep+0;
    return k_log_edges_f64(x, sum.x + (sum.y + low));
}

static inline f64 k_log10_f64(f64 x)
{
    f64x2 s = k_log_split_f64(x), p = k_log1p_parts_f64(s.y);
    f64x2 high = k_product_f64(p.x, 0x1.bcb7b1526e50ep-2);
    f64x2 sum = k_sum_f64(s.x * 0x1.34413509f78p-2, high.x);
    f64 low = fma(p.x, 0x1.95355baaafad3p-57, high.y) + p.y * 0x1.bcb7b1526e50ep-2;
    return k_log_edges_f64(x, sum.x + (sum.y + fma(s.x, 0x1.fef311f12b358p-46, low)));
}

static inline f64 k_log1p_f64(f64 x)
{
    f64 u = 1.0 + x;
    i64 e = (i64)(bits_f64(u) - 0x3fe6a09e667f3bcdu) >> 52;
    f64 scale = f64_from_bits(0x3ff0000000000000u - ((u64)e << 52)), k = (f64)(i32)e;
    f64x2 f = k_sum_any_f64(x * scale, scale - 1.0);
    f64 big = f64_from_bits(bits_f64(u) - ((u64)e << 52)) - 1.0; // where the 1 does not count
    f = (f64x2){x > 1e20 ? big : f.x, x > 1e20 ? 0.0 : f.y};
    f64x2 p = k_log1p_parts_f64(f.x);
    f64x2 sum = k_sum_f64(k * 0x1.62e42fefa38p-1, p.x);
    f64 low = fma(k, 0x1.ef35793c7673p-45, p.y) + f.y / (1.0 + f.x);
    f64 y = k_log_edges_f64(u, sum.x + (sum.y + low));
    return fabs(x) < 1e-17 ? x : y;
}
#endif
