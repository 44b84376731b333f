// expm1 of f32 in Kiln C, as exp_f32.h; host compilers read the same text.
#ifndef KILN_LIB_EXPM1_F32_H
#define KILN_LIB_EXPM1_F32_H
#include "core_f32.h"

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
