// kiln/narrow.h: functions for results of 16 bits, in fewer steps than those of f32. Every device
// computes the same bits.
//
// Relative errors are below 2^-16: those of f16 and bf16 are 2^-12 and 2^-9. The polynomials are
// best fits (Remez) of 2^x on -0.5 … 0.5 and of the logarithm of erfc on 0 … 6.5.
#ifndef KILN_NARROW_H
#define KILN_NARROW_H

#include <kiln/kernel.h>

#define NARROW_ROUND 12582912.0f // adding it rounds to an integer, which is then in the low bits

// 2^r for a rest of rounding.
static inline f32 narrow_power(f32 r)
{
    f32 p = fma(0.0095701022f, r, 0.0559178591f);
    p = fma(p, r, 0.240247443f);
    p = fma(p, r, 0.693121791f);
    return fma(p, r, 0.999999285f);
}

// p * 2^n, n from -126 to 127 as rounding has left it in the bits of t.
static inline f32 narrow_scale(f32 p, f32 t)
{
    return p * f32_from_bits((bits_f32(t) << 23) + 0x3f800000u);
}

// exp(x) for x up to 0; 0 below -87. Selections keep a NaN.
static inline f32 narrow_exp(f32 x)
{
    f32 y = x * 1.44269504f;
    y = y < -126.0f ? -126.0f : y;
    f32 t = y + NARROW_ROUND, e = narrow_scale(narrow_power(y - (t - NARROW_ROUND)), t);
    return x < -87.0f ? 0.0f : e;
}

// 1 + exp(x) for any x.
static inline f32 narrow_one_plus_exp(f32 x)
{
    f32 y = x * 1.44269504f;
    y = y < -125.0f ? -125.0f : y;
    y = y > 129.0f ? 129.0f : y; // infinite
    f32 t = y + NARROW_ROUND, p = narrow_power(y - (t - NARROW_ROUND));
    return fma(narrow_scale(p, t - 1.0f), 2.0f, 1.0f);
}

// 1 + erf(x): erfc of the magnitude, or what is missing from 2.
static inline f32 narrow_one_plus_erf(f32 x)
{
    f32 z = min(fabs(x), 6.5f);
    f32 y = fma(1.14574379e-6f, z, -4.01647121e-5f);
    y = fma(y, z, 0.000623461499f);
    y = fma(y, z, -0.00570679037f);
    y = fma(y, z, 0.0348160639f);
    y = fma(y, z, -0.153289914f);
    y = fma(y, z, -0.916740954f);
    y = fma(y, z, -1.62808478f);
    y = fma(y, z, -5.01905106e-6f);
    f32 t = y + NARROW_ROUND, p = narrow_power(y - (t - NARROW_ROUND));
    f32 rest = narrow_scale(p, t);
    return x < 0.0f ? rest : 2.0f - rest;
}

#endif
