// tanh of f32 in Kiln C; host compilers read the same text.
//
// tanh(a) = -m / (m + 2) with m = exp(-2a) - 1, which never overflows; what the sums and the division lose is put back.
#ifndef KILN_LIB_TANH_F32_H
#define KILN_LIB_TANH_F32_H
#include "core_f32.h"

static inline f32 k_tanh_f32(f32 x)
{
    f32 a = fabs(x);
    a = a > 10.0f ? 10.0f : a;
    f32 t = fma(a, -2.88539008f, KILN_ROUND32), n = t - KILN_ROUND32;
    f32 whole = fma(n, -0.693145752f, -2.0f * a), r = fma(n, -1.42860677e-6f, whole);
    f32 q = fma(0.000199443326f, r, 0.00139326858f);
    q = fma(q, r, 0.00833320804f);
    q = fma(q, r, 0.0416664891f);
    q = fma(q, r, 0.166666672f);
    q = fma(q, r, 0.5f) * r * r;
    f32 high = r + q, low = ((r - high) + q) + fma(n, -1.42860677e-6f, whole - r);
    f32 scale = f32_from_bits((bits_f32(t) << 23) + 0x3f800000u);
    f32 one = scale - 1.0f, part = scale * high;
    f32 m = one + part, m_low = fma(scale, low, ((one - m) + part) + (scale - (one + 1.0f)));
    f32 d = 2.0f + m, d_low = ((2.0f - d) + m) + m_low;
    f32 inverse = 1.0f / d, y = m * inverse;
    f32 rest = fma(-y, d, m) + fma(-y, d_low, m_low);
    return copysign(fabs(x) < 1e-4f ? x : fma(rest, inverse, y), x);
}
#endif
