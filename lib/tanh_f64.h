// tanh of f64 in Kiln C, as tanh_f32.h; host compilers read the same text.
#ifndef KILN_LIB_TANH_F64_H
#define KILN_LIB_TANH_F64_H
#include "expm1_f64.h"

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
#endif
