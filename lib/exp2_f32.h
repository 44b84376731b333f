// exp2 of f32 in Kiln C, as exp_f32.h; host compilers read the same text.
#ifndef KILN_LIB_EXP2_F32_H
#define KILN_LIB_EXP2_F32_H
#include "core_f32.h"

static inline f32 k_exp2_f32(f32 x)
{
    x = x > 130.0f ? 130.0f : x;
    x = x < -152.0f ? -152.0f : x;
    f32 t = x + KILN_ROUND32, r = x - (t - KILN_ROUND32);
    f32 q = fma(0.000153291112f, r, 0.00133910042f);
    q = fma(q, r, 0.00961850118f);
    q = fma(q, r, 0.0555035956f);
    q = fma(q, r, 0.240226477f);
    q = fma(q, r, 0.693147182f);
    return k_scale_f32(fma(q, r, 1.0f), bits_f32(t));
}
#endif
