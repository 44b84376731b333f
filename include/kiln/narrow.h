// kiln/narrow.h: the functions of kiln/smooth.h for results of 16 bits, in fewer steps. Every
// device computes the same bits.
//
// Relative errors are below 2^-15: those of f16 and bf16 are 2^-12 and 2^-9. The polynomials are
// best fits (tests/ulp/minimax.py) of (2^r - 1) / r on -0.5 … 0.5 and of the logarithm of erfc on
// 0 … 8.
#ifndef KILN_NARROW_H
#define KILN_NARROW_H

#include <kiln/smooth.h>

// (2^r - 1) / r for a rest of rounding.
static inline f32 narrow_slope(f32 r)
{
    f32 q = fma(0.00961800199f, r, 0.0558375679f);
    q = fma(q, r, 0.240232557f);
    return fma(q, r, 0.693136871f);
}

// 2^y for y up to 0; 0 below -126.5. A selection keeps a NaN.
static inline f32 narrow_power(f32 y)
{
    y = y < -127.0f ? -127.0f : y;
    f32 t = y + SMOOTH_ROUND, r = y - (t - SMOOTH_ROUND);
    return fma(narrow_slope(r), r, 1.0f) * smooth_scale(t);
}

// exp(x) for x up to 0; 0 below -87.7. A selection keeps a NaN.
static inline f32 narrow_exp(f32 x)
{
    x = x < -87.9f ? -87.9f : x;
    f32 t = fma(x, 1.44269504f, SMOOTH_ROUND), r = fma(x, 1.44269504f, SMOOTH_ROUND - t);
    return fma(narrow_slope(r), r, 1.0f) * smooth_scale(t);
}

// a / (1 + exp(x)): both parts are divided by exp(x) where that is above 1.
static inline f32 narrow_over_one_plus_exp(f32 a, f32 x)
{
    f32 e = narrow_exp(-fabs(x));
    return a * ((x > 0.0f ? e : 1.0f) * smooth_reciprocal(1.0f + e));
}

// -m / (m + 2) of the magnitude, m = exp(-2 |x|) - 1.
static inline f32 narrow_tanh(f32 x)
{
    f32 z = fabs(x);
    z = z > 9.5f ? 9.5f : z;
    f32 t = fma(z, -2.88539008f, SMOOTH_ROUND), r = fma(z, -2.88539008f, SMOOTH_ROUND - t);
    f32 scale = smooth_scale(t), m = fma(scale * r, narrow_slope(r), scale - 1.0f);
    return copysign(m * smooth_reciprocal(m + 2.0f), x);
}

// 1 + erf(x): erfc of the magnitude, or what is missing from 2.
static inline f32 narrow_one_plus_erf(f32 x)
{
    f32 z = fabs(x);
    f32 y = fma(-3.48263534e-8f, z, 2.02841784e-6f);
    y = fma(y, z, -4.91922256e-5f);
    y = fma(y, z, 0.000671347545f);
    y = fma(y, z, -0.00584839331f);
    y = fma(y, z, 0.0350525603f);
    y = fma(y, z, -0.153513685f);
    y = fma(y, z, -0.916615069f);
    f32 rest = narrow_power(fma(y, z, -1.62812734f) * z);
    return x < 0.0f ? rest : 2.0f - rest;
}

// x times half of 1 + erf(x / sqrt(2)). Half of erfc is 2^y; what it takes away from x, or from 0
// where x is below, is |x| times it. The polynomial is a best fit for |x| up to 8: beyond, 5e-15 is
// left.
static inline f32 narrow_gelu(f32 x)
{
    f32 z = fabs(x);
    z = z > 8.0f ? 8.0f : z; // a selection keeps a NaN
    f32 y = fma(-1.28119677e-06f, z, 4.87682919e-05f);
    y = fma(y, z, -0.000814079423f);
    y = fma(y, z, 0.00798679423f);
    y = fma(y, z, -0.0527758896f);
    y = fma(y, z, -0.459714562f);
    y = fma(fma(y, z, -1.15079713f), z, -1.0f);
    f32 t = y + SMOOTH_ROUND, r = y - (t - SMOOTH_ROUND);
    return fma(-z, fma(narrow_slope(r), r, 1.0f) * smooth_scale(t), x > 0.0f ? x : 0.0f);
}

#endif
