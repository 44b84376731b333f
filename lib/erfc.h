// erfc in Kiln C; host compilers read the same text. f32 is computed in f64.
#ifndef KILN_LIB_ERFC_H
#define KILN_LIB_ERFC_H
#include "erf_f64.h"

static inline f64 k_erfc_f64(f64 x)
{
    f64 a = fabs(x);
    f64x2 small = k_erf_small_f64(a * a), c = k_erfc_parts_f64(a > 27.5 ? 27.5 : a < 0.7 ? 0.7 : a);
    f64x2 p = k_product_f64(x, small.x), sum = k_sum_f64(1.0, -p.x), back = k_sum_f64(2.0, -c.x);
    f64 near = sum.x + (sum.y - fma(x, small.y, p.y));
    f64 far = x < 0 ? back.x + (back.y - c.y) : c.x;
    return a < 0.71 ? near : far;
}

static inline f32 k_erfc_f32(f32 x)
{
    return (f32)k_erfc_f64((f64)x);
}
#endif
