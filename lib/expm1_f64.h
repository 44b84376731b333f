// expm1 of f64 in Kiln C, as exp_f64.h; host compilers read the same text.
#ifndef KILN_LIB_EXPM1_F64_H
#define KILN_LIB_EXPM1_F64_H
#include "exp_f64.h"

// expm1(x) / 2 as an unevaluated sum; -40 <= x <= 710, not too small for halving
static inline f64x2 k_half_expm1_f64(f64 x)
{
    f64 t = fma(x, 1.4426950408889634, KILN_ROUND64), n = t - KILN_ROUND64;
    f64 r = fma(n, -0x1.62e42fefa38p-1, x), rest = n * -0x1.ef35793c7673p-45;
    f64x2 reduced = k_sum_f64(r, rest);
    f64x2 part = k_sum_f64(reduced.x, k_exp_tail_f64(reduced.x));
    f64 scale = f64_from_bits((bits_f64(t) << 52) + 0x3fe0000000000000u);
    f64x2 power = k_sum_f64(scale, scale * part.x), sum = k_sum_any_f64(power.x, -0.5);
    // the low part of r counts as exp does: 1 + r of it
    f64 low = part.y + fma(reduced.y, reduced.x, reduced.y);
    return k_sum_f64(sum.x, sum.y + fma(scale, low, power.y));
}

static inline f64 k_expm1_f64(f64 x)
{
    f64 a = x > 710.0 ? 710.0 : x;
    a = a < -40.0 ? -40.0 : a;
    f64x2 half = k_half_expm1_f64(a);
    return fabs(x) < 1e-17 ? x : 2.0 * (half.x + half.y);
}
#endif
