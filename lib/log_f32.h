// log of f32 in Kiln C, and what the other logarithms need; host compilers read the same text.
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
#endif
