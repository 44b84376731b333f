// rsqrt of f32 in Kiln C; host compilers read the same text.
#ifndef KILN_LIB_RSQRT_F32_H
#define KILN_LIB_RSQRT_F32_H
#include "core_f32.h"

// A guess from the halved exponent, improved twice with y (1 + e/2 + 3/8 e^2), e = 1 - x y^2.
static inline f32 k_rsqrt_f32(f32 x)
{
    bool is_small = x < 1.17549435e-38f;
    f32 a = is_small ? x * 16777216.0f : x;
    f32 y = f32_from_bits(0x5f3759dfu - (bits_f32(a) >> 1));
    f32 e = fma(-(a * y), y, 1.0f);
    y = fma(y * e, fma(0.375f, e, 0.5f), y);
    f32 h = a * y;
    e = fma(-h, y, 1.0f) - fma(a, y, -h) * y;
    y = fma(y * e, fma(0.375f, e, 0.5f), y);
    y = is_small ? y * 4096.0f : y;
    f32 edge = x == 0 ? copysign(KILN_INF32, x) : x > 0 ? 0.0f : x < 0 ? KILN_NAN32 : x;
    return x > 0 && x < KILN_INF32 ? y : edge;
}
#endif
