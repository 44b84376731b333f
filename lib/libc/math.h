// <math.h> for kernels: what is not a builtin. All of it is exact, so that the bits are those of
// every other library. frexp and its like take doubles, as in C; a name that ends in f takes
// floats.
#pragma once

#include "payload.h"

enum { FP_NAN, FP_INFINITE, FP_ZERO, FP_SUBNORMAL, FP_NORMAL };

#define FP_ILOGB0   (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)

#define fpclassify(x)                                                                              \
    (isnan(x)                                            ? FP_NAN                                  \
     : isinf(x)                                          ? FP_INFINITE                             \
     : (x) == 0                                          ? FP_ZERO                                 \
     : fabs(x) < (sizeof(x) == 4 ? 0x1p-126 : 0x1p-1022) ? FP_SUBNORMAL                            \
                                                         : FP_NORMAL)
#define isnormal(x)          (fpclassify(x) == FP_NORMAL)
#define isunordered(x, y)    (isnan(x) || isnan(y))
#define isgreater(x, y)      ((x) > (y))
#define isgreaterequal(x, y) ((x) >= (y))
#define isless(x, y)         ((x) < (y))
#define islessequal(x, y)    ((x) <= (y))
#define islessgreater(x, y)  ((x) < (y) || (x) > (y))

// --- significand and exponent
static int __k_exponent(double x) // of 1 <= m < 2 times 2^e; x is finite and not 0
{
    u64 bits = bits_f64(x) & 0x7fffffffffffffffull;
    int e = (int)(bits >> 52);
    return e ? e - 1023 : -1011 - (int)leading_zeros(bits);
}

static double scalbn(double x, int n)
{
    if (n > 1023) {
        x *= 0x1p1023;
        n -= 1023;
        if (n > 1023) {
            x *= 0x1p1023;
            n = n - 1023 > 1023 ? 1023 : n - 1023;
        }
    } else if (n < -1022) { // 53 bits are kept in hand, so that only the last step rounds
        x *= 0x1p-969;
        n += 969;
        if (n < -1022) {
            x *= 0x1p-969;
            n = n + 969 < -1022 ? -1022 : n + 969;
        }
    }
    return x * f64_from_bits((u64)(n + 1023) << 52);
}

static float scalbnf(float x, int n)
{
    return (float)scalbn(x, n < -400 ? -400 : n > 400 ? 400 : n); // exact before the last step
}

static double scalbln(double x, long n)
{
    return scalbn(x, n < -5000 ? -5000 : n > 5000 ? 5000 : (int)n);
}

static float scalblnf(float x, long n)
{
    return scalbnf(x, n < -5000 ? -5000 : n > 5000 ? 5000 : (int)n);
}

static double ldexp(double x, int n)
{
    return scalbn(x, n);
}

static float ldexpf(float x, int n)
{
    return scalbnf(x, n);
}

static double frexp(double x, int *exponent)
{
    *exponent = 0;
    if (x == 0 || !isfinite(x))
        return x;
    *exponent = __k_exponent(x) + 1;
    return scalbn(x, -*exponent);
}

static float frexpf(float x, int *exponent)
{
    return (float)frexp(x, exponent);
}

static int ilogb(double x)
{
    return x == 0 || isnan(x) ? FP_ILOGB0 : isinf(x) ? 2147483647 : __k_exponent(x);
}

static int ilogbf(float x)
{
    return ilogb(x);
}

static double logb(double x)
{
    return x == 0         ? -f64_from_bits(0x7ff0000000000000ull)
           : !isfinite(x) ? x * x
                          : (double)__k_exponent(x);
}

static float logbf(float x)
{
    return (float)logb(x);
}

static double modf(double x, double *whole)
{
    *whole = trunc(x);
    return copysign(isinf(x) ? 0.0 : x - *whole, x);
}

static float modff(float x, float *whole)
{
    *whole = trunc(x);
    return copysign(isinf(x) ? 0.0f : x - *whole, x);
}

// --- to integers
static double nearbyint(double x)
{
    return rint(x);
}

static float nearbyintf(float x)
{
    return rint(x);
}

static long lrint(double x)
{
    return (long)rint(x);
}

static long lrintf(float x)
{
    return (long)rint(x);
}

static long long llrint(double x)
{
    return (long long)rint(x);
}

static long long llrintf(float x)
{
    return (long long)rint(x);
}

static long lround(double x)
{
    return (long)round(x);
}

static long lroundf(float x)
{
    return (long)round(x);
}

static long long llround(double x)
{
    return (long long)round(x);
}

static long long llroundf(float x)
{
    return (long long)round(x);
}

// --- neighbours and differences
static double nextafter(double x, double y)
{
    if (isnan(x) || isnan(y))
        return x + y;
    if (x == y)
        return y;
    if (x == 0)
        return copysign(0x1p-1074, y);
    u64 bits = bits_f64(x);
    return f64_from_bits((x < y) == (x > 0) ? bits + 1 : bits - 1);
}

static float nextafterf(float x, float y)
{
    if (isnan(x) || isnan(y))
        return x + y;
    if (x == y)
        return y;
    if (x == 0)
        return copysign(0x1p-149f, y);
    u32 bits = bits_f32(x);
    return f32_from_bits((x < y) == (x > 0) ? bits + 1 : bits - 1);
}

static double fdim(double x, double y)
{
    return isnan(x) || isnan(y) ? x + y : x > y ? x - y : 0.0;
}

static float fdimf(float x, float y)
{
    return isnan(x) || isnan(y) ? x + y : x > y ? x - y : 0.0f;
}

static double nan(const char *payload)
{
    u64 bits = 0;
    if (*payload)
        __k_payload(payload, 0, &bits);
    return f64_from_bits(0x7ff8000000000000ull | (bits & 0x7ffffffffffffull));
}

static float nanf(const char *payload)
{
    u64 bits = 0;
    if (*payload)
        __k_payload(payload, 0, &bits);
    return f32_from_bits(0x7fc00000u | ((u32)bits & 0x3fffffu));
}

// --- builtins as functions that a pointer can name: `double (*f)(double) = sin;`
#define __K_OF_1(name)                                                                             \
    static double __k_of_##name(double x)                                                          \
    {                                                                                              \
        return name(x);                                                                            \
    }                                                                                              \
    static float __k_of_##name##f(float x)                                                         \
    {                                                                                              \
        return name##f(x);                                                                         \
    }
#define __K_OF_2(name)                                                                             \
    static double __k_of_##name(double x, double y)                                                \
    {                                                                                              \
        return name(x, y);                                                                         \
    }                                                                                              \
    static float __k_of_##name##f(float x, float y)                                                \
    {                                                                                              \
        return name##f(x, y);                                                                      \
    }
// clang-format off
__K_OF_1(sqrt) __K_OF_1(floor) __K_OF_1(ceil) __K_OF_1(trunc) __K_OF_1(rint) __K_OF_1(round) __K_OF_1(fabs) __K_OF_1(cbrt)
__K_OF_1(exp) __K_OF_1(exp2) __K_OF_1(expm1) __K_OF_1(log) __K_OF_1(log2) __K_OF_1(log10) __K_OF_1(log1p)
__K_OF_1(sin) __K_OF_1(cos) __K_OF_1(tan) __K_OF_1(asin) __K_OF_1(acos) __K_OF_1(atan) __K_OF_1(sinh) __K_OF_1(cosh) __K_OF_1(tanh)
__K_OF_1(erf) __K_OF_1(erfc) __K_OF_1(tgamma) __K_OF_1(lgamma)
__K_OF_2(fmin) __K_OF_2(fmax) __K_OF_2(copysign) __K_OF_2(pow) __K_OF_2(atan2) __K_OF_2(fmod) __K_OF_2(remainder) __K_OF_2(hypot)
    // clang-format on
    static double __k_of_fma(double x, double y, double z)
{
    return fma(x, y, z);
}

static float __k_of_fmaf(float x, float y, float z)
{
    return fmaf(x, y, z);
}
