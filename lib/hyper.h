// sinh, cosh, tanh in Kiln C; host compilers read the same text.
//
// tanh(a) = -m / (m + 2) with m = exp(-2a) - 1, which never overflows; what the sums and the division lose is put back.
#ifndef KILN_LIB_HYPER_H
#define KILN_LIB_HYPER_H
#include "exp.h"

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

static inline f64 k_tanh_f64(f64 x)
{
    f64 a = fabs(x);
    a = a > 20.0 ? 20.0 : a;
    f64x2 m = k_half_expm1_f64(-2.0 * a);
    f64x2 d = k_sum_f64(1.0, m.x); // m and d are halved
    d.y += m.y;
    f64 y = m.x / d.x;
    f64 rest = fma(-y, d.x, m.x) + fma(-y, d.y, m.y);
    return copysign(a < 1e-9 ? x : y + rest / d.x, x);
}

// exp(a) / 4 as an unevaluated sum, 0 <= a <= 710.5
static inline f64x2 k_quarter_exp_f64(f64 a)
{
    f64 t = fma(a, 1.4426950408889634, KILN_ROUND64), n = t - KILN_ROUND64;
    f64x2 r = k_sum_f64(fma(n, -0x1.62e42fefa38p-1, a), n * -0x1.ef35793c7673p-45);
    f64x2 p = k_sum_f64(1.0, r.x);
    p = k_sum_f64(p.x, p.y + (r.y + k_exp_tail_f64(r.x)));
    f64 scale = f64_from_bits((bits_f64(t) << 52) + 0x3fd0000000000000u);
    return (f64x2){p.x * scale, p.y * scale};
}

static inline f64 k_cosh_f64(f64 x)
{
    f64 a = fabs(x);
    f64x2 e = k_quarter_exp_f64(a > 710.5 ? 710.5 : a);
    return 2.0 * (e.x + (e.y + 0.0625 / e.x));
}

static inline f64 k_sinh_f64(f64 x)
{
    f64 a = fabs(x);
    f64x2 e = k_quarter_exp_f64(a > 710.5 ? 710.5 : a);
    f64 y = 2.0 * (e.x + (e.y - 0.0625 / e.x));
    f64 z = a * a;
    f64 q = fma(2.84840038848542831e-15, z, 7.64647628213340024e-13);
    q = fma(q, z, 1.60590507070694629e-10);
    q = fma(q, z, 2.50521083456320617e-8);
    q = fma(q, z, 2.75573192241202828e-6);
    q = fma(q, z, 0.000198412698412695892);
    q = fma(q, z, 0.00833333333333333322);
    q = fma(q, z, 0.166666666666666657);
    f64 small = fma(a * z, q, a);
    return copysign(a < 1.0 ? small : y, x);
}

static inline f32 k_cosh_f32(f32 x)
{
    return (f32)k_cosh_f64((f64)x);
}

static inline f32 k_sinh_f32(f32 x)
{
    return (f32)k_sinh_f64((f64)x);
}
#endif
