// Lane loops for conversions: integers among themselves, integer and float, and the narrow floats
// that travel most (f16, bf16). The others go through ir_eval.
#include <math.h>

#include "dev/interp/engine.h"

#define CONVERT(name, S, T, expr)                                                                  \
    static void name(void *dv, const void *av, const void *bv, const void *cv)                     \
    {                                                                                              \
        (void)bv;                                                                                  \
        (void)cv;                                                                                  \
        T *d = dv;                                                                                 \
        const S *a = av;                                                                           \
        LANE_LOOP for (int i = 0; i < LANES; i++)                                                  \
        {                                                                                          \
            S x = a[i];                                                                            \
            d[i] = (T)(expr);                                                                      \
        }                                                                                          \
    }

CONVERT(trunc_8_1, lane_u8, lane_u8, x & 1)
CONVERT(trunc_16_1, lane_u16, lane_u8, x & 1)
CONVERT(trunc_32_1, lane_u32, lane_u8, x & 1)
CONVERT(trunc_64_1, lane_u64, lane_u8, x & 1)
CONVERT(trunc_16_8, lane_u16, lane_u8, x)
CONVERT(trunc_32_8, lane_u32, lane_u8, x)
CONVERT(trunc_64_8, lane_u64, lane_u8, x)
CONVERT(trunc_32_16, lane_u32, lane_u16, x)
CONVERT(trunc_64_16, lane_u64, lane_u16, x)
CONVERT(trunc_64_32, lane_u64, lane_u32, x)
CONVERT(zext_8_8, lane_u8, lane_u8, x)
CONVERT(zext_8_16, lane_u8, lane_u16, x)
CONVERT(zext_8_32, lane_u8, lane_u32, x)
CONVERT(zext_8_64, lane_u8, lane_u64, x)
CONVERT(zext_16_32, lane_u16, lane_u32, x)
CONVERT(zext_16_64, lane_u16, lane_u64, x)
CONVERT(zext_32_64, lane_u32, lane_u64, x)
CONVERT(sext_1_8, lane_u8, lane_u8, 0 - x)
CONVERT(sext_1_16, lane_u8, lane_u16, 0 - x)
CONVERT(sext_1_32, lane_u8, lane_u32, 0 - x)
CONVERT(sext_1_64, lane_u8, lane_u64, (uint64_t)0 - x)
CONVERT(sext_8_16, lane_i8, lane_i16, x)
CONVERT(sext_8_32, lane_i8, lane_i32, x)
CONVERT(sext_8_64, lane_i8, lane_i64, x)
CONVERT(sext_16_32, lane_i16, lane_i32, x)
CONVERT(sext_16_64, lane_i16, lane_i64, x)
CONVERT(sext_32_64, lane_i32, lane_i64, x)
CONVERT(sitof_32_32, lane_i32, lane_f32, x)
CONVERT(sitof_32_64, lane_i32, lane_f64, x)
CONVERT(sitof_64_32, lane_i64, lane_f32, x)
CONVERT(sitof_64_64, lane_i64, lane_f64, x)
CONVERT(uitof_32_32, lane_u32, lane_f32, x)
CONVERT(uitof_32_64, lane_u32, lane_f64, x)
CONVERT(uitof_64_32, lane_u64, lane_f32, x)
CONVERT(uitof_64_64, lane_u64, lane_f64, x)

// Toward zero, saturating, NaN gives 0. `below` is the first number above the range.
#define TO_SIGNED(w)                                                                               \
    static inline int##w##_t to_i##w(double x)                                                     \
    {                                                                                              \
        const double below = (double)((uint64_t)1 << (w - 1));                                     \
        return isnan(x)      ? 0                                                                   \
               : x >= below  ? INT##w##_MAX                                                        \
               : x <= -below ? INT##w##_MIN                                                        \
                             : (int##w##_t)x;                                                      \
    }
#define TO_UNSIGNED(w)                                                                             \
    static inline uint##w##_t to_u##w(double x)                                                    \
    {                                                                                              \
        const double below = 2 * (double)((uint64_t)1 << (w - 1));                                 \
        return !(x > 0) ? 0 : x >= below ? UINT##w##_MAX : (uint##w##_t)x;                         \
    }
TO_SIGNED(8)
TO_SIGNED(16)
TO_SIGNED(32)
TO_SIGNED(64)
TO_UNSIGNED(8)
TO_UNSIGNED(16)
TO_UNSIGNED(32)
TO_UNSIGNED(64)
#define FLOAT_TO(w)                                                                                \
    CONVERT(ftosi_32_##w, lane_f32, lane_i##w, to_i##w((double)x))                                 \
    CONVERT(ftosi_64_##w, lane_f64, lane_i##w, to_i##w(x))                                         \
    CONVERT(ftoui_32_##w, lane_f32, lane_u##w, to_u##w((double)x))                                 \
    CONVERT(ftoui_64_##w, lane_f64, lane_u##w, to_u##w(x))
FLOAT_TO(8)
FLOAT_TO(16)
FLOAT_TO(32)
FLOAT_TO(64)

CONVERT(fext_32_64, lane_f32, lane_f64, x)
CONVERT(fnarrow_64_32, lane_f64, lane_f32, x)
CONVERT(fext_bf16, lane_u16, lane_u32, (uint32_t)x << 16)
static inline uint16_t f32_to_bf16(uint32_t x)
{
    uint32_t rounded = (x + 0x7fff + ((x >> 16) & 1)) >> 16;
    return (uint16_t)((x & 0x7fffffff) > 0x7f800000 ? (x >> 16) | 0x40 : rounded);
}
CONVERT(fnarrow_bf16, lane_u32, lane_u16, f32_to_bf16(x))

// f16 -> f32: shift exponent and mantissa into place and let a multiplication by 2^112 set the
// bias; it also makes denormals normal. Exact.
static inline uint32_t f16_to_f32(uint16_t h)
{
    uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13;
    float scaled;
    memcpy(&scaled, &magnitude, sizeof scaled);
    scaled *= 0x1p112f;
    uint32_t bits;
    memcpy(&bits, &scaled, sizeof bits);
    if ((h & 0x7c00) == 0x7c00)
        bits = 0x7f800000 | magnitude;
    return bits | (uint32_t)(h & 0x8000) << 16;
}
// f32 -> f16, nearest even: normals by integer rounding, denormals by adding a number whose last
// bit is the denormals' step.
static inline uint16_t f32_to_f16(uint32_t bits)
{
    uint32_t sign = bits >> 16 & 0x8000, x = bits & 0x7fffffff, h;
    if (x > 0x7f800000)
        h = 0x7e00 | (x >> 13 & 0x3ff);
    else if (x >= 0x477ff000)
        h = 0x7c00;
    else if (x < 0x38800000) {
        float f;
        memcpy(&f, &x, sizeof f);
        f += 0.5f;
        memcpy(&h, &f, sizeof h);
        h -= 0x3f000000;
    } else
        h = (x - 0x38000000 + 0xfff + (x >> 13 & 1)) >> 13;
    return (uint16_t)(sign | h);
}
CONVERT(fext_f16, lane_u16, lane_u32, f16_to_f32(x))
CONVERT(fnarrow_f16, lane_u32, lane_u16, f32_to_f16(x))

// Pairs of 16-bit floats. Sums and products of two such numbers round the same by way of f32, which
// has more than twice their digits.
static inline float f32_of_f16(uint32_t h)
{
    uint32_t bits = f16_to_f32((uint16_t)h);
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
static inline float f32_of_bf16(uint32_t h)
{
    uint32_t bits = h << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
static inline uint32_t f16_of_f32(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return f32_to_f16(bits);
}
static inline uint32_t bf16_of_f32(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return f32_to_bf16(bits);
}
#define PAIRS(name, half, operator)                                                                \
    static void name##_##half(void *dv, const void *av, const void *bv, const void *cv)            \
    {                                                                                              \
        (void)cv;                                                                                  \
        lane_u32 *d = dv;                                                                          \
        const lane_u32 *a = av, *b = bv;                                                           \
        LANE_LOOP for (int i = 0; i < LANES; i++)                                                  \
        {                                                                                          \
            uint32_t x = a[i], y = b[i];                                                           \
            uint32_t lo =                                                                          \
                half##_of_f32(f32_of_##half(x & 0xffff) operator f32_of_##half(y & 0xffff));       \
            uint32_t hi = half##_of_f32(f32_of_##half(x >> 16) operator f32_of_##half(y >> 16));   \
            d[i] = hi << 16 | lo;                                                                  \
        }                                                                                          \
    }
PAIRS(hadd2, f16, +)
PAIRS(hsub2, f16, -)
PAIRS(hmul2, f16, *)
PAIRS(hadd2, bf16, +)
PAIRS(hsub2, bf16, -)
PAIRS(hmul2, bf16, *)

typedef struct convert_row {
    uint8_t op; // ir_op - IR_TRUNC
    uint8_t from, to;
    lane_fn *fn;
} convert_row;
#define ROW(op, from, to, fn)                                                                      \
    {                                                                                              \
        IR_##op - IR_TRUNC, IR_##from, IR_##to, fn                                                 \
    }
// clang-format off
static const convert_row rows[] = {
    ROW(TRUNC, I8, I1, trunc_8_1),     ROW(TRUNC, I16, I1, trunc_16_1),  ROW(TRUNC, I32, I1, trunc_32_1),
    ROW(TRUNC, I64, I1, trunc_64_1),   ROW(TRUNC, I16, I8, trunc_16_8),  ROW(TRUNC, I32, I8, trunc_32_8),
    ROW(TRUNC, I64, I8, trunc_64_8),   ROW(TRUNC, I32, I16, trunc_32_16), ROW(TRUNC, I64, I16, trunc_64_16),
    ROW(TRUNC, I64, I32, trunc_64_32),
    ROW(ZEXT, I1, I8, zext_8_8),       ROW(ZEXT, I1, I16, zext_8_16),    ROW(ZEXT, I1, I32, zext_8_32),
    ROW(ZEXT, I1, I64, zext_8_64),     ROW(ZEXT, I8, I16, zext_8_16),    ROW(ZEXT, I8, I32, zext_8_32),
    ROW(ZEXT, I8, I64, zext_8_64),     ROW(ZEXT, I16, I32, zext_16_32),  ROW(ZEXT, I16, I64, zext_16_64),
    ROW(ZEXT, I32, I64, zext_32_64),
    ROW(SEXT, I1, I8, sext_1_8),       ROW(SEXT, I1, I16, sext_1_16),    ROW(SEXT, I1, I32, sext_1_32),
    ROW(SEXT, I1, I64, sext_1_64),     ROW(SEXT, I8, I16, sext_8_16),    ROW(SEXT, I8, I32, sext_8_32),
    ROW(SEXT, I8, I64, sext_8_64),     ROW(SEXT, I16, I32, sext_16_32),  ROW(SEXT, I16, I64, sext_16_64),
    ROW(SEXT, I32, I64, sext_32_64),
    ROW(SITOF, I32, F32, sitof_32_32), ROW(SITOF, I32, F64, sitof_32_64), ROW(SITOF, I64, F32, sitof_64_32),
    ROW(SITOF, I64, F64, sitof_64_64),
    ROW(UITOF, I32, F32, uitof_32_32), ROW(UITOF, I32, F64, uitof_32_64), ROW(UITOF, I64, F32, uitof_64_32),
    ROW(UITOF, I64, F64, uitof_64_64),
    ROW(FTOSI, F32, I8, ftosi_32_8),   ROW(FTOSI, F32, I16, ftosi_32_16), ROW(FTOSI, F32, I32, ftosi_32_32),
    ROW(FTOSI, F32, I64, ftosi_32_64), ROW(FTOSI, F64, I8, ftosi_64_8),  ROW(FTOSI, F64, I16, ftosi_64_16),
    ROW(FTOSI, F64, I32, ftosi_64_32), ROW(FTOSI, F64, I64, ftosi_64_64),
    ROW(FTOUI, F32, I8, ftoui_32_8),   ROW(FTOUI, F32, I16, ftoui_32_16), ROW(FTOUI, F32, I32, ftoui_32_32),
    ROW(FTOUI, F32, I64, ftoui_32_64), ROW(FTOUI, F64, I8, ftoui_64_8),  ROW(FTOUI, F64, I16, ftoui_64_16),
    ROW(FTOUI, F64, I32, ftoui_64_32), ROW(FTOUI, F64, I64, ftoui_64_64),
    ROW(FEXT, F32, F64, fext_32_64),   ROW(FEXT, F16, F32, fext_f16),    ROW(FEXT, BF16, F32, fext_bf16),
    ROW(FNARROW, F64, F32, fnarrow_64_32), ROW(FNARROW, F32, F16, fnarrow_f16),
    ROW(FNARROW, F32, BF16, fnarrow_bf16),
    ROW(HADD2, F16, I32, hadd2_f16),   ROW(HSUB2, F16, I32, hsub2_f16),  ROW(HMUL2, F16, I32, hmul2_f16),
    ROW(HADD2, BF16, I32, hadd2_bf16), ROW(HSUB2, BF16, I32, hsub2_bf16), ROW(HMUL2, BF16, I32, hmul2_bf16),
};
// clang-format on

lane_fn *LANE_NAME(lane_find_convert)(ir_op op, ir_type to, ir_type from)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].op == op - IR_TRUNC && rows[i].from == from && rows[i].to == to)
            return rows[i].fn;
    return NULL;
}

#undef CONVERT
#undef TO_SIGNED
#undef TO_UNSIGNED
#undef FLOAT_TO
#undef ROW
#undef PAIRS
