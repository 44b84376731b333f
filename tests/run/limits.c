// Every constant of C's headers: the host's headers have the same.
#define _DEFAULT_SOURCE // glibc: M_PI
#include <float.h>
#include <kiln/kernel.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>

//! run integer_limits block=1 (i64[48])
kernel void integer_limits(i64 *out)
{
    const i64 all[] = {
        CHAR_BIT,   CHAR_MAX,     CHAR_MIN,    SCHAR_MAX,   SCHAR_MIN,    UCHAR_MAX,   SHRT_MAX,
        SHRT_MIN,   USHRT_MAX,    INT_MAX,     INT_MIN,     UINT_MAX,     LONG_MAX,    LONG_MIN,
        LLONG_MAX,  LLONG_MIN,    INT8_MAX,    INT8_MIN,    UINT8_MAX,    INT16_MAX,   INT16_MIN,
        UINT16_MAX, INT32_MAX,    INT32_MIN,   UINT32_MAX,  INT64_MAX,    INT64_MIN,   INTPTR_MAX,
        INTPTR_MIN, PTRDIFF_MAX,  PTRDIFF_MIN, DBL_DIG,     DBL_MANT_DIG, DBL_MAX_EXP, DBL_MIN_EXP,
        FLT_DIG,    FLT_MANT_DIG, FLT_MAX_EXP, FLT_MIN_EXP, FLT_RADIX,    INT8_C(1),   INT16_C(2),
        INT32_C(3), INT64_C(4),   UINT8_C(5),  UINT16_C(6)};
    for (u32 k = 0; k < 46; k++)
        out[k] = all[k];
}
//! run unsigned_limits block=1 (u64[8])
kernel void unsigned_limits(u64 *out)
{
    out[0] = ULONG_MAX;
    out[1] = ULLONG_MAX;
    out[2] = UINT64_MAX;
    out[3] = SIZE_MAX;
    out[4] = UINTPTR_MAX;
    out[5] = UINT64_C(7);
    out[6] = UINT32_C(4294967295);
}
//! run float_limits block=1 (f64[24], f32[8])
kernel void float_limits(f64 *out, f32 *small)
{
    const f64 all[] = {DBL_EPSILON, DBL_MAX,    DBL_MIN, DBL_TRUE_MIN, HUGE_VAL,  M_1_PI,
                       M_2_PI,      M_2_SQRTPI, M_E,     M_LN10,       M_LN2,     M_LOG10E,
                       M_LOG2E,     M_PI,       M_PI_2,  M_PI_4,       M_SQRT1_2, M_SQRT2};
    for (u32 k = 0; k < 18; k++)
        out[k] = all[k];
    small[0] = FLT_EPSILON;
    small[1] = FLT_MAX;
    small[2] = FLT_MIN;
    small[3] = FLT_TRUE_MIN;
    small[4] = HUGE_VALF;
    small[5] = INFINITY;
    small[6] = isnan(NAN) ? 1.0f : 0.0f;
}
