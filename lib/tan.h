// tan in Kiln C: sine over cosine, both in two parts; host compilers read the same text. f32 is computed in f64.
#ifndef KILN_LIB_TAN_H
#define KILN_LIB_TAN_H
#include "trig_f64.h"

static inline f64 k_tan_f64(f64 x)
{
    k_turn64 a = k_turn_f64(x);
    f64x2 s = k_sum_f64(a.r, k_sin_tail_f64(a.r, a.low)), c = k_cos_parts_f64(a.r, a.low);
    bool is_odd = (a.quadrant & 1) != 0;
    f64x2 p = is_odd ? c : s, q = is_odd ? s : c;
    f64 y = p.x / q.x;
    f64 rest = fma(-y, q.x, p.x) + fma(-y, q.y, p.y);
    y = y + rest / q.x;
    y = is_odd ? -y : y;
    y = fabs(x) < 1e-8 ? x : y;
    return fabs(x) < KILN_INF64 ? y : x - x;
}

static inline f32 k_tan_f32(f32 x)
{
    return (f32)k_tan_f64((f64)x);
}
#endif
