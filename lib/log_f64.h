// log, log2, log10, log1p of f64 in Kiln C; host compilers read the same text.
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
