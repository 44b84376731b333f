// log2 of f32 in Kiln C, as log_f32.h; host compilers read the same text.
#ifndef KILN_LIB_LOG2_F32_H
#define KILN_LIB_LOG2_F32_H
#include "log_f32.h"

static inline f32 k_log2_f32(f32 x)
{
    f32x2 s = k_log_split_f32(x);
    f32 f = s.y;
    f32 q = fma(-0.113049544f, f, 0.187400937f);
    q = fma(q, f, -0.190364257f);
    q = fma(q, f, 0.204364777f);
    q = fma(q, f, -0.23968026f);
    q = fma(q, f, 0.28858152f);
    q = fma(q, f, -0.360693991f);
    q = fma(q, f, 0.480897993f);
    q = fma(q, f, -0.721347392f);
    f32 p = f * 1.44269502f, low = fma(f, 1.44269502f, -p);
    low = fma(f, 1.92596303e-8f, low);
    f32 sum = s.x + p, square = f * f;
    low += (s.x - sum) + p;
    low = fma(q, fma(f, f, -square), low);
    return k_log_edges_f32(x, sum + fma(q, square, low));
}
#endif
