// exp, exp2, expm1 of f32 in Kiln C; host compilers read the same text.
//
// x = n ln 2 + r with |r| <= ln 2 / 2, exp(x) = 2^n (1 + r + r^2 q(r)); q comes from tests/ulp/minimax.py.
// An argument is first moved to where the result is still 0, subnormal or infinite; a NaN passes every comparison by.
#ifndef KILN_LIB_EXP_F32_H
#define KILN_LIB_EXP_F32_H
#include "core_f32.h"

static inline f32 k_exp_f32(f32 x)
{
    x = x > 89.0f ? 89.0f : x;
    x = x < -104.0f ? -104.0f : x;
    f32 t = fma(x, 1.44269504f, KILN_ROUND32), n = t - KILN_ROUND32;
    f32 r = fma(n, -0.693145752f, x);
    r = fma(n, -1.42860677e-6f, r);
    f32 q = fma(0.0013819309f, r, 0.0083686877f);
    q = fma(q, r, 0.0416682847f);
    q = fma(q, r, 0.166665211f);
    q = fma(q, r, 0.49999994f);
    q = fma(q, r, 1.0f);
    return k_scale_f32(fma(q, r, 1.0f), bits_f32(t));
}

static inline f32 k_exp2_f32(f32 x)
{
    x = x > 130.0f ? 130.0f : x;
    x = x < -152.0f ? -152.0f : x;
    f32 t = x + KILN_ROUND32, r = x - (t - KILN_ROUND32);
    f32 q = fma(0.000153291112f, r, 0.00133910042f);
    q = fma(q, r, 0.00961850118f);
    q = fma(q, r, 0.0555035956f);
    q = fma(q, r, 0.240226477f);
    q = fma(q, r, 0.693147182f);
    return k_scale_f32(fma(q, r, 1.0f), bits_f32(t));
}

// (2^n + 2^n (r + r^2 q)) - 1: what the sums lose is kept and added at the end. Everything is halved, so that 2^n
// does not overflow before the result does.
static inline f32 k_expm1_f32(f32 x)
{
    f32 a = x > 89.0f ? 89.0f : x;
    a = a < -18.0f ? -18.0f : a;
    f32 t = fma(a, 1.44269504f, KILN_ROUND32), n = t - KILN_ROUND32;
    f32 whole = fma(n, -0.693145752f, a), r = fma(n, -1.42860677e-6f, whole);
    f32 q = fma(0.000199443326f, r, 0.00139326858f);
    q = fma(q, r, 0.00833320804f);
    q = fma(q, r, 0.0416664891f);
    q = fma(q, r, 0.166666672f);
    q = fma(q, r, 0.5f) * r * r;
    f32 high = r + q, low = ((r - high) + q) + fma(n, -1.42860677e-6f, whole - r);
    f32 scale = f32_from_bits((bits_f32(t) << 23) + 0x3f000000u), part = scale * high;
    f32 power = scale + part, lost = (scale - power) + part;
    f32 sum = power - 0.5f, back = sum - power;
    lost += (power - (sum - back)) - (0.5f + back);
    f32 y = 2.0f * (sum + fma(scale, low, lost));
    return fabs(x) < 2e-8f ? x : y;
}
#endif
