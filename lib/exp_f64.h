// exp of f64 in Kiln C; host compilers read the same text.
//
// x = n ln 2 + r with |r| <= ln 2 / 2, exp(x) = 2^n (1 + r + r^2 q(r)); q comes from tests/ulp/minimax.py.
// An argument is first moved to where the result is still 0, subnormal or infinite; a NaN passes every comparison by.
#ifndef KILN_LIB_EXP_F64_H
#define KILN_LIB_EXP_F64_H
#include "core_f64.h"

// r^2 q(r) with exp(r) = 1 + r + r^2 q(r), |r| <= 0.347
static inline f64 k_exp_tail_f64(f64 r)
{
    f64 q = fma(2.09244917114513847e-9, r, 2.5109097098882998e-8);
    q = fma(q, r, 2.75572426022799994e-7);
    q = fma(q, r, 2.75572440440271562e-6);
    q = fma(q, r, 0.0000248015873607409384);
    q = fma(q, r, 0.000198412698862825517);
    q = fma(q, r, 0.00138888888888667435);
    q = fma(q, r, 0.00833333333332157179);
    q = fma(q, r, 0.041666666666666699);
    q = fma(q, r, 0.166666666666666768);
    q = fma(q, r, 0.5);
    return q * r * r;
}

static inline f64 k_exp_f64(f64 x)
{
    x = x > 710.0 ? 710.0 : x;
    x = x < -746.0 ? -746.0 : x;
    f64 t = fma(x, 1.4426950408889634, KILN_ROUND64), n = t - KILN_ROUND64;
    f64 r = fma(n, -0x1.62e42fefa38p-1, x), low = n * -0x1.ef35793c7673p-45;
    f64 sum = r + low;
    low += r - sum;
    return k_scale_f64(1.0 + (sum + (low + k_exp_tail_f64(sum))), bits_f64(t));
}
#endif
