// Logarithm and exponential of f64 to about 65 bits, as unevaluated sums: what pow and the gamma functions rest on.
#ifndef KILN_LIB_WIDE_H
#define KILN_LIB_WIDE_H
#include "exp_f64.h"

// log(x + low), x positive and finite, |low| <= half an ulp of x: with s = f / (2 + f), 2 atanh(s) = 2s + s z (2/3 + z q(z)).
static inline f64x2 k_log_wide_f64(f64 x, f64 x_low)
{
    bool is_small = x < 2.2250738585072014e-308;
    u64 bits = bits_f64(is_small ? x * 0x1p54 : x);
    i64 e = (i64)(bits - 0x3fe6a09e667f3bcdu) >> 52;
    f64 k = (f64)(i32)(e - (is_small ? 54 : 0));
    f64 m = f64_from_bits(bits - ((u64)e << 52)), f = m - 1.0;
    f64x2 d = k_sum_f64(2.0, f);
    f64 s = f / d.x, s_low = (fma(-s, d.x, f) - s * d.y) / d.x;
    f64 z = s * s, z_low = fma(s, s, -z) + 2.0 * s * s_low;
    f64 q = fma(0.110149062193458561, z, 0.104226885270043063);
    q = fma(q, z, 0.117686860466650056);
    q = fma(q, z, 0.133332400562102354);
    q = fma(q, z, 0.153846167601737749);
    q = fma(q, z, 0.181818181691764752);
    q = fma(q, z, 0.222222222222910631);
    q = fma(q, z, 0.285714285714283756);
    q = fma(q, z, 0.400000000000000022);
    f64x2 v = k_sum_f64(0x1.5555555555555p-1, z * q);
    v.y += 0x1.5555555555555p-55;
    f64x2 w = k_product_f64(z, v.x);
    w.y += fma(z, v.y, z_low * v.x);
    f64x2 t = k_product_f64(s, w.x);
    t.y += fma(s, w.y, s_low * w.x);
    f64x2 sum = k_sum_f64(2.0 * s, t.x);
    f64 low = sum.y + (2.0 * s_low + t.y) + (is_small ? 0.0 : x_low / x);
    f64x2 total = k_sum_f64(k * 0x1.62e42fefa38p-1, sum.x);
    low += fma(k, 0x1.ef35793c7673p-45, total.y);
    return k_sum_f64(total.x, low);
}

// x * y of an unevaluated sum and a number
static inline f64x2 k_times_f64(f64x2 x, f64 y)
{
    f64x2 p = k_product_f64(x.x, y);
    return (f64x2){p.x, fma(x.y, y, p.y)};
}

// 2^n (x + y) = exp(a + low)
typedef struct k_power {
    f64 x, y;
    u64 bits;
} k_power;

static inline k_power k_exp_wide_f64(f64 a, f64 a_low)
{
    f64 t = fma(a, 1.4426950408889634, KILN_ROUND64), n = t - KILN_ROUND64;
    f64x2 r = k_sum_f64(fma(n, -0x1.62e42fefa38p-1, a), n * -0x1.ef35793c7673p-45);
    r = k_sum_f64(r.x, r.y + a_low);
    f64x2 p = k_sum_f64(1.0, r.x);
    f64 low = p.y + (fma(r.x, r.y, r.y) + k_exp_tail_f64(r.x));
    p = k_sum_f64(p.x, low);
    return (k_power){p.x, p.y, bits_f64(t)};
}
#endif
