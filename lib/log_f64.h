// log of f64 in Kiln C, and what the other logarithms need; host compilers read the same text.
//
// x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); with s = f / (2 + f), log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)).
// The largest parts are added without losing what rounds away.
#ifndef KILN_LIB_LOG_F64_H
#define KILN_LIB_LOG_F64_H
#include "core_f64.h"

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
#endif
