// sinh and cosh in Kiln C; host compilers read the same text.
//
// (e ± 1/e) / 2 with e = exp |x| in two parts; sinh is a polynomial below 1. f32 is computed in f64.
#ifndef KILN_LIB_HYPER_H
#define KILN_LIB_HYPER_H
#include "exp_f64.h"

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
