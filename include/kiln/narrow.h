// kiln/narrow.h: the functions of kiln/smooth.h for results of 16 bits, in fewer steps. Every
// device computes the same bits.
//
// Relative errors are below 2^-15: those of f16 and bf16 are 2^-12 and 2^-9. The polynomials are
// best fits (tests/ulp/minimax.py) of (2^r - 1) / r on -0.5 … 0.5 and of the logarithm of erfc on
// 0 … 8; tanh(x) / x is a quotient of two, fitted alike.
#ifndef KILN_NARROW_H
#define KILN_NARROW_H

#include <kiln/smooth.h>

#define NARROW_LEAST f32_from_bits(11744879u) // what narrow_over_one_plus_exp(1, 87) would be

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

// a / (1 + exp(x)), as in kiln/smooth.h.
static inline f32 narrow_over_one_plus_exp(f32 a, f32 x)
{
    x = x < -87.0f ? -87.0f : x;
    x = x > 87.0f ? 87.0f : x;
    f32 t = fma(x, 1.44269504f, SMOOTH_ROUND), r = fma(x, 1.44269504f, SMOOTH_ROUND - t);
    f32 power = fma(narrow_slope(r), r, 1.0f);
    return a * (smooth_reciprocal(fma(power, smooth_scale(t), 1.0f)) - NARROW_LEAST);
}

// A quotient of polynomials, the best fit up to 5.7: beyond, 2^-15 is missing from 1.
static inline f32 narrow_tanh(f32 x)
{
    x = x < -5.7f ? -5.7f : x;
    x = x > 5.7f ? 5.7f : x;
    f32 z = x * x;
    f32 p = fma(fma(0.001551429528f, z, 0.1153879039f), z, 0.9999948356f);
    f32 q = fma(fma(fma(5.86582889e-5f, z, 0.01782427716f), z, 0.4486843642f), z, 1.0f);
    return x * p * smooth_reciprocal(q);
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

// Half of erfc(z / sqrt(2)), 2^y. The polynomial is a best fit for z up to 8.
static inline f32 narrow_half_erfc(f32 z)
{
    f32 y = fma(-1.28119677e-06f, z, 4.87682919e-05f);
    y = fma(y, z, -0.000814079423f);
    y = fma(y, z, 0.00798679423f);
    y = fma(y, z, -0.0527758896f);
    y = fma(y, z, -0.459714562f);
    y = fma(y, z, -1.15079713f);
    f32 t = fma(y, z, SMOOTH_ROUND - 1.0f),
        r = fma(y, z, (SMOOTH_ROUND - 1.0f) - t); // of y * z - 1
    return smooth_scaled(fma(narrow_slope(r), r, 1.0f), t);
}

// x times half of 1 + erf(x / sqrt(2)). What half of erfc takes away from x, or from 0 where x is
// below, is |x| times it. Beyond 8, 5e-15 is left.
static inline f32 narrow_gelu(f32 x)
{
    f32 z = fabs(x);
    z = z > 8.0f ? 8.0f : z; // a selection keeps a NaN
    return fma(-z, narrow_half_erfc(z), max(x, 0.0f));
}

// The slope of that: half of 1 + erf(x / sqrt(2)), and x times the normal density, which is 2 to
// the power of -z^2 / log(4) - log2(2 pi) / 2. The slopes at x and -x add up to 1.
static inline f32 narrow_gelu_slope(f32 x)
{
    f32 z = fabs(x);
    z = z > 8.0f ? 8.0f : z;
    f32 y = fma(z * z, -0.72134752f, -1.32574806f);
    f32 t = y + SMOOTH_ROUND, r = y - (t - SMOOTH_ROUND);
    f32 density = smooth_scaled(fma(narrow_slope(r), r, 1.0f), t);
    f32 below = fma(-z, density, narrow_half_erfc(z));
    return x < 0.0f ? below : 1.0f - below;
}

#endif
