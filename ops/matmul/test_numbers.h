// Numbers of every operand's type for test.c: made at random, rounded, written and read.
#ifndef KILN_MATMUL_TEST_NUMBERS_H
#define KILN_MATMUL_TEST_NUMBERS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kiln/kiln.h"

static uint32_t random_bits(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}

static float of_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}

// Nearest number with `bits` bits after the point and an exponent of at least `least`.
static double rounded(double x, int bits, int least)
{
    int e;
    if (x == 0 || !isfinite(x))
        return x;
    frexp(x, &e);
    e = e - 1 < least ? least : e - 1;
    double unit = ldexp(1, e - bits);
    return nearbyint(x / unit) * unit;
}

static double narrowed(kiln_type t, double x)
{
    return t == KILN_BF16   ? rounded(x, 7, -126)
           : t == KILN_F16  ? rounded(x, 10, -14)
           : t == KILN_F8E4 ? rounded(x, 3, -6)
           : t == KILN_F32  ? (double)(float)x
                            : x;
}

static void store(kiln_type t, void *to, size_t i, double x)
{
    int e = 0;
    double f = x == 0 ? 0 : frexp(fabs(x), &e) * 2;
    uint32_t sign = x < 0;
    e--;
    if (t == KILN_F32)
        ((float *)to)[i] = (float)x;
    else if (t == KILN_I8)
        ((int8_t *)to)[i] = (int8_t)x;
    else if (t == KILN_BF16)
        ((uint16_t *)to)[i] = (uint16_t)(bits_of((float)x) >> 16);
    else if (t == KILN_F16)
        ((uint16_t *)to)[i] =
            x == 0 ? 0
                   : (uint16_t)(sign << 15 | (uint32_t)(e + 15) << 10 | (uint32_t)((f - 1) * 1024));
    else
        ((uint8_t *)to)[i] =
            x == 0 ? 0 : (uint8_t)(sign << 7 | (uint32_t)(e + 7) << 3 | (uint32_t)((f - 1) * 8));
}

static double load(kiln_type t, const void *from, size_t i)
{
    if (t == KILN_F32)
        return (double)((const float *)from)[i];
    if (t == KILN_I32)
        return ((const int32_t *)from)[i];
    uint32_t u = ((const uint16_t *)from)[i];
    if (t == KILN_BF16)
        return (double)of_bits(u << 16);
    uint32_t e = u >> 10 & 31;
    double v = e == 31 ? (double)NAN
               : e     ? ldexp(1024 + (u & 1023), (int)e - 25)
                       : ldexp(u & 1023, -24);
    return u >> 15 ? -v : v;
}

#endif
