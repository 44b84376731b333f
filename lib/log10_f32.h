// log10 of f32 in Kiln C, as log_f32.h; host compilers read the same text.
#ifndef KILN_LIB_LOG10_F32_H
#define KILN_LIB_LOG10_F32_H
#include "log_f32.h"

static inline f32 k_log10_f32(f32 x)
{
    f32x2 s = k_log_split_f32(x);
    f32 f = s.y;
    f32 q = fma(-0.0333987698f, f, 0.0562084541f);
    q = fma(q, f, -0.0574872382f);
    q = fma(q, f, 0.0615671352f);
    q = fma(q, f, -0.0721311569f);
    q = fma(q, f, 0.0868682712f);
    q = fma(q, f, -0.108580656f);
    q = fma(q, f, 0.144764796f);
    q = fma(q, f, -0.217147186f);
    f32 p = f * 0.434294492f, low = fma(f, 0.434294492f, -p);
    low = fma(f, -1.010305e-8f, low);
    low = fma(s.x, 4.60503907e-6f, low);
    f32 high = s.x * 0.301025391f, sum = high + p;
    low += (high - sum) + p;
    return k_log_edges_f32(x, sum + fma(q, f * f, low));
}
#endif
