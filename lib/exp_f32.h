// exp of f32 in Kiln C; host compilers read the same text.
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
#endif
