// kiln/smooth.h: the functions that activations are made of, in f32 and in few steps. Every device
// computes the same bits, without a branch: exp and erf are polynomials, 1 / d is rounded to
// nearest.
//
// Relative errors are below 2^-21; those of 1 + erf(x) grow to 2^-15 at x = -6.5, where it is
// 4e-20. The polynomials are best fits (tests/ulp/minimax.py) of (2^r - 1) / r on -0.5 … 0.5, for
// its own error and for that of 2^r, and of the logarithm of erfc on 0 … 6.5. kiln/narrow.h has the
// same functions for results of 16 bits.
#ifndef KILN_SMOOTH_H
#define KILN_SMOOTH_H

#include <kiln/kernel.h>

#define SMOOTH_ROUND 12582912.0f // adding it rounds to an integer, which is then in the low bits
#define SMOOTH_LEAST f32_from_bits(11744903u) // what smooth_over_one_plus_exp(1, 87) would be

// 2^n, n from -126 as rounding has left it in the bits of t; 0 for -127.
static inline f32 smooth_scale(f32 t)
{
    return f32_from_bits((bits_f32(t) << 23) + 0x3f800000u);
}

// 2^n * p, where neither is below 2^-126 nor the product: n is added to the exponent of p.
static inline f32 smooth_scaled(f32 p, f32 t)
{
    return f32_from_bits((bits_f32(t) << 23) + bits_f32(p));
}

// 1 / d for d from 1 to 2^126, rounded to nearest. On cuda these are the steps of a division
// without the test of its range.
static inline f32 smooth_reciprocal(f32 d)
{
    if (!target_is_cuda())
        return 1.0f / d;
    f32 r = fast_rcp(d);
    return fma(r, fma(-d, r, 1.0f), r);
}

// (2^r - 1) / r for a rest of rounding.
static inline f32 smooth_slope(f32 r)
{
    f32 q = fma(0.000153841422f, r, 0.00133874011f);
    q = fma(q, r, 0.00961830653f);
    q = fma(q, r, 0.0555036739f);
    q = fma(q, r, 0.240226492f);
    return fma(q, r, 0.693147182f);
}

// 2^r for a rest of rounding.
static inline f32 smooth_power(f32 r)
{
    f32 q = fma(0.00132703246f, r, 0.00967138354f);
    q = fma(q, r, 0.0555070825f);
    q = fma(q, r, 0.240222454f);
    q = fma(q, r, 0.693147004f);
    return fma(q, r, 1.0f);
}

// exp(x) for x up to 0; 0 below -87.7. A selection keeps a NaN.
static inline f32 smooth_exp(f32 x)
{
    x = x < -87.9f ? -87.9f : x;
    f32 t = fma(x, 1.44269502f, SMOOTH_ROUND), n = t - SMOOTH_ROUND;
    f32 r = fma(x, 1.92596299e-8f, fma(x, 1.44269502f, -n));
    return smooth_power(r) * smooth_scale(t);
}

// a / (1 + exp(x)). Beyond 87 the quotient is taken as that at 87, which is taken away from all: it
// is 0 then.
static inline f32 smooth_over_one_plus_exp(f32 a, f32 x)
{
    x = x < -87.0f ? -87.0f : x;
    x = x > 87.0f ? 87.0f : x;
    f32 t = fma(x, 1.44269502f, SMOOTH_ROUND), n = t - SMOOTH_ROUND;
    f32 r = fma(x, 1.92596299e-8f, fma(x, 1.44269502f, -n));
    return a * (smooth_reciprocal(fma(smooth_power(r), smooth_scale(t), 1.0f)) - SMOOTH_LEAST);
}

// -m / (m + 2) of the magnitude, m = exp(-2 |x|) - 1.
static inline f32 smooth_tanh(f32 x)
{
    f32 z = fabs(x);
    z = z > 10.0f ? 10.0f : z;
    f32 t = fma(z, -2.88539004f, SMOOTH_ROUND), r = fma(z, -2.88539004f, SMOOTH_ROUND - t);
    f32 scale = smooth_scale(t), m = fma(scale * r, smooth_slope(r), scale - 1.0f);
    return copysign(m * smooth_reciprocal(m + 2.0f), x);
}

// 1 + erf(x): erfc of the magnitude, or what is missing from 2.
static inline f32 smooth_one_plus_erf(f32 x)
{
    f32 z = fabs(x);
    f32 y = fma(-3.41418716e-9f, z, 1.4105116e-7f);
    y = fma(y, z, -2.57805641e-6f);
    y = fma(y, z, 2.73546466e-5f);
    y = fma(y, z, -0.000184632067f);
    y = fma(y, z, 0.000799305388f);
    y = fma(y, z, -0.00191810075f);
    y = fma(y, z, -0.000642309489f);
    y = fma(y, z, 0.0284689087f);
    y = fma(y, z, -0.148705795f);
    y = fma(y, z, -0.918343186f);
    y = fma(y, z, -1.62791562f) * z;
    y = y < -127.0f ? -127.0f : y;
    f32 t = y + SMOOTH_ROUND, r = y - (t - SMOOTH_ROUND);
    f32 rest = smooth_power(r) * smooth_scale(t);
    return x < 0.0f ? rest : 2.0f - rest;
}

// x times half of 1 + erf(x / sqrt(2)). Half of erfc is 2^y; what it takes away from x, or from 0
// where x is below, is |x| times it.
static inline f32 smooth_gelu(f32 x)
{
    f32 z = fabs(x);
    z = z > 12.5f ? 12.5f : z; // a selection keeps a NaN
    f32 y = fma(-5.33466743e-11f, z, 3.11681969e-9f);
    y = fma(y, z, -8.05642628e-8f);
    y = fma(y, z, 1.20891605e-6f);
    y = fma(y, z, -1.15395042e-5f);
    y = fma(y, z, 7.06492792e-5f);
    y = fma(y, z, -0.000239762594f);
    y = fma(y, z, -0.000113545349f);
    y = fma(y, z, 0.00711722719f);
    y = fma(y, z, -0.0525754392f);
    y = fma(y, z, -0.459171593f);
    y = fma(y, z, -1.15111017f);
    f32 t = fma(y, z, SMOOTH_ROUND - 1.0f),
        r = fma(y, z, (SMOOTH_ROUND - 1.0f) - t); // of y * z - 1
    return fma(-z, smooth_scaled(smooth_power(r), t), max(x, 0.0f));
}

// The slope of that: half of 1 + erf(x / sqrt(2)), and x times the normal density.
static inline f32 smooth_gelu_slope(f32 x)
{
    f32 half = 0.5f * smooth_one_plus_erf(x * 0.707106781f);
    return half + x * 0.39894228f * smooth_exp(-0.5f * x * x);
}

#endif
