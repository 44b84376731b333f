// erf of f32 in Kiln C; host compilers read the same text.
//
// A polynomial in x^2 below 0.92, 1 - exp(polynomial) above.
#ifndef KILN_LIB_ERF_F32_H
#define KILN_LIB_ERF_F32_H
#include "core_f32.h"

// exp(x + low) for -20 <= x <= 0
static inline f32 k_exp_near_f32(f32 x, f32 low)
{
    f32 t = fma(x, 1.44269504f, KILN_ROUND32), n = t - KILN_ROUND32;
    f32 r = fma(n, -0.693145752f, x);
    r += fma(n, -1.42860677e-6f, low);
    f32 q = fma(0.0013819309f, r, 0.0083686877f);
    q = fma(q, r, 0.0416682847f);
    q = fma(q, r, 0.166665211f);
    q = fma(q, r, 0.49999994f);
    q = fma(q, r, 1.0f);
    return fma(q, r, 1.0f) * f32_from_bits((bits_f32(t) << 23) + 0x3f800000u);
}

static inline f32 k_erf_f32(f32 x)
{
    f32 a = fabs(x), z = x * x;
    f32 s = fma(8.32773876e-5f, z, -0.00081308448f);
    s = fma(s, z, 0.00519974995f);
    s = fma(s, z, -0.0268587302f);
    s = fma(s, z, 0.112836786f);
    s = fma(s, z, -0.376126319f);
    s = fma(s, z, 0.128379166f);
    s = fma(s, x, x);
    f32 b = a > 4.0f ? 4.0f : a;
    f32 e = fma(-2.10960097e-5f, b, 0.000434468093f);
    e = fma(e, b, -0.00417107297f);
    e = fma(e, b, 0.0251194295f);
    e = fma(e, b, -0.108280078f);
    e = fma(e, b, -0.633346915f);
    e = fma(e, b, -1.12951493f);
    f32 high = e * b, low = fma(e, b, -high) + 0.000174687026f;
    return a < 0.921875f ? s : copysign(1.0f - k_exp_near_f32(high, low), x);
}
#endif
