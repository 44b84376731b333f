// Numbers and bits for the host's compiler (see kernel.h): min and max with Kiln's rules for NaN
// and -0, rounding, bit operations. Whatever <math.h> has under the same name is replaced, so that
// kernels and host code of one file get the same answers as every device.
#ifndef KILN_HOST_NUMBER_H
#define KILN_HOST_NUMBER_H

// --- bit patterns
#define KILN_BITS(name, To, From)                                                                  \
    static inline To name(From x)                                                                  \
    {                                                                                              \
        To to;                                                                                     \
        memcpy(&to, &x, sizeof to);                                                                \
        return to;                                                                                 \
    }
// clang-format off
KILN_BITS(bits_f32, u32, f32)   KILN_BITS(f32_from_bits, f32, u32)
KILN_BITS(bits_f64, u64, f64)   KILN_BITS(f64_from_bits, f64, u64)
KILN_BITS(bits_f16, u16, f16)   KILN_BITS(f16_from_bits, f16, u16)
KILN_BITS(bits_bf16, u16, bf16) KILN_BITS(bf16_from_bits, bf16, u16)
KILN_BITS(bits_f8e4, u8, f8e4)  KILN_BITS(f8e4_from_bits, f8e4, u8)
KILN_BITS(bits_f8e5, u8, f8e5)  KILN_BITS(f8e5_from_bits, f8e5, u8)
    // clang-format on

    // --- kinds of floats
    // clang-format off
static inline bool kiln_signbit_f32(f32 x)  { return bits_f32(x) >> 31; }
static inline bool kiln_signbit_f64(f64 x)  { return bits_f64(x) >> 63; }
static inline bool kiln_isnan_f32(f32 x)    { return (bits_f32(x) & 0x7fffffffu) > 0x7f800000u; }
static inline bool kiln_isnan_f64(f64 x)    { return (bits_f64(x) & ~(1ull << 63)) > 0x7ffull << 52; }
static inline bool kiln_isinf_f32(f32 x)    { return (bits_f32(x) & 0x7fffffffu) == 0x7f800000u; }
static inline bool kiln_isinf_f64(f64 x)    { return (bits_f64(x) & ~(1ull << 63)) == 0x7ffull << 52; }
static inline bool kiln_isfinite_f32(f32 x) { return (bits_f32(x) & 0x7fffffffu) < 0x7f800000u; }
static inline bool kiln_isfinite_f64(f64 x) { return (bits_f64(x) & ~(1ull << 63)) < 0x7ffull << 52; }
// clang-format on
#undef isnan
#undef isinf
#undef isfinite
#undef signbit
#define isnan(x)    KILN_BY_FLOAT(kiln_isnan, x)(x)
#define isinf(x)    KILN_BY_FLOAT(kiln_isinf, x)(x)
#define isfinite(x) KILN_BY_FLOAT(kiln_isfinite, x)(x)
#define signbit(x)  KILN_BY_FLOAT(kiln_signbit, x)(x)

// --- min, max, clamp, abs
#define KILN_MINMAX_INT(T)                                                                         \
    static inline T kiln_min_##T(T a, T b)                                                         \
    {                                                                                              \
        return b < a ? b : a;                                                                      \
    }                                                                                              \
    static inline T kiln_max_##T(T a, T b)                                                         \
    {                                                                                              \
        return b > a ? b : a;                                                                      \
    }
#define KILN_MINMAX_FLOAT(T)                                                                       \
    static inline T kiln_min_##T(T a, T b)                                                         \
    {                                                                                              \
        if (kiln_isnan_##T(a) || kiln_isnan_##T(b))                                                \
            return kiln_isnan_##T(a) ? b : a;                                                      \
        return b < a || (a == b && kiln_signbit_##T(b)) ? b : a;                                   \
    }                                                                                              \
    static inline T kiln_max_##T(T a, T b)                                                         \
    {                                                                                              \
        if (kiln_isnan_##T(a) || kiln_isnan_##T(b))                                                \
            return kiln_isnan_##T(a) ? b : a;                                                      \
        return b > a || (a == b && kiln_signbit_##T(a)) ? b : a;                                   \
    }
#define KILN_CLAMP(T)                                                                              \
    static inline T kiln_clamp_##T(T x, T low, T high)                                             \
    {                                                                                              \
        return kiln_min_##T(kiln_max_##T(x, low), high);                                           \
    }
// clang-format off
KILN_MINMAX_INT(i32) KILN_MINMAX_INT(u32) KILN_MINMAX_INT(i64) KILN_MINMAX_INT(u64) KILN_MINMAX_FLOAT(f32) KILN_MINMAX_FLOAT(f64)
KILN_CLAMP(i32) KILN_CLAMP(u32) KILN_CLAMP(i64) KILN_CLAMP(u64) KILN_CLAMP(f32) KILN_CLAMP(f64)
static inline i32 kiln_abs_i32(i32 x) { return x < 0 ? (i32)(0u - (u32)x) : x; }
static inline i64 kiln_abs_i64(i64 x) { return x < 0 ? (i64)(0ull - (u64)x) : x; }
static inline f32 kiln_abs_f32(f32 x) { return f32_from_bits(bits_f32(x) & 0x7fffffffu); }
static inline f64 kiln_abs_f64(f64 x) { return f64_from_bits(bits_f64(x) & ~(1ull << 63)); }
// clang-format on
#undef min
#undef max
#undef abs
#define min(a, b)           KILN_BY_NUM(kiln_min, (a) + (b))(a, b)
#define max(a, b)           KILN_BY_NUM(kiln_max, (a) + (b))(a, b)
#define clamp(x, low, high) KILN_BY_NUM(kiln_clamp, (x) + (low) + (high))(x, low, high)
#define abs(x)                                                                                     \
    _Generic((x) + 0, int                                                                          \
             : kiln_abs_i32, long                                                                  \
             : kiln_abs_i64, long long                                                             \
             : kiln_abs_i64, float                                                                 \
             : kiln_abs_f32, double                                                                \
             : kiln_abs_f64)(x)

// --- one correctly rounded operation each
// clang-format off
static inline f32 kiln_copysign_f32(f32 x, f32 s) { return __builtin_copysignf(x, s); }
static inline f64 kiln_copysign_f64(f64 x, f64 s) { return __builtin_copysign(x, s); }
static inline f32 kiln_fma_f32(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
static inline f64 kiln_fma_f64(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
static inline f32 kiln_sqrt_f32(f32 x)  { return __builtin_sqrtf(x); }
static inline f64 kiln_sqrt_f64(f64 x)  { return __builtin_sqrt(x); }
static inline f32 kiln_floor_f32(f32 x) { return __builtin_floorf(x); }
static inline f64 kiln_floor_f64(f64 x) { return __builtin_floor(x); }
static inline f32 kiln_ceil_f32(f32 x)  { return __builtin_ceilf(x); }
static inline f64 kiln_ceil_f64(f64 x)  { return __builtin_ceil(x); }
static inline f32 kiln_trunc_f32(f32 x) { return __builtin_truncf(x); }
static inline f64 kiln_trunc_f64(f64 x) { return __builtin_trunc(x); }
static inline f32 kiln_rint_f32(f32 x)  { return __builtin_rintf(x); }
static inline f64 kiln_rint_f64(f64 x)  { return __builtin_rint(x); }
// clang-format on
// An integer argument is made a double, as C's own functions do.
#define KILN_MATH1(name, x)    _Generic((x), float : name##_f32, default : name##_f64)(x)
#define KILN_MATH2(name, x, y) _Generic((x) + (y), float : name##_f32, default : name##_f64)(x, y)
#define fma(a, b, c)                                                                               \
    _Generic((a) + (b) + (c), float : kiln_fma_f32, default : kiln_fma_f64)(a, b, c)
#define sqrt(x)         KILN_MATH1(kiln_sqrt, x)
#define floor(x)        KILN_MATH1(kiln_floor, x)
#define ceil(x)         KILN_MATH1(kiln_ceil, x)
#define trunc(x)        KILN_MATH1(kiln_trunc, x)
#define rint(x)         KILN_MATH1(kiln_rint, x)
#define fabs(x)         KILN_MATH1(kiln_abs, x)
#define fmin(a, b)      KILN_MATH2(kiln_min, a, b)
#define fmax(a, b)      KILN_MATH2(kiln_max, a, b)
#define copysign(x, s)  KILN_MATH2(kiln_copysign, x, s)
#define fmaf(a, b, c)   kiln_fma_f32(a, b, c)
#define sqrtf(x)        kiln_sqrt_f32(x)
#define floorf(x)       kiln_floor_f32(x)
#define ceilf(x)        kiln_ceil_f32(x)
#define truncf(x)       kiln_trunc_f32(x)
#define rintf(x)        kiln_rint_f32(x)
#define fabsf(x)        kiln_abs_f32(x)
#define fminf(a, b)     kiln_min_f32(a, b)
#define fmaxf(a, b)     kiln_max_f32(a, b)
#define copysignf(x, s) kiln_copysign_f32(x, s)

// --- approximations: whatever the host's library says
static inline f32 fast_exp2(f32 x)
{
    return __builtin_exp2f(x);
}
static inline f32 fast_log2(f32 x)
{
    return __builtin_log2f(x);
}
#define fast_exp(x)    fast_exp2((x)*1.44269504f)
#define fast_log(x)    (fast_log2(x) * 0.693147181f)
#define fast_sin(x)    __builtin_sinf(x)
#define fast_cos(x)    __builtin_cosf(x)
#define fast_tanh(x)   __builtin_tanhf(x)
#define fast_rcp(x)    (1.0f / (f32)(x))
#define fast_rsqrt(x)  (1.0f / kiln_sqrt_f32(x))
#define fast_sqrt(x)   kiln_sqrt_f32(x)
#define fast_div(x, y) ((f32)(x) / (f32)(y))
#define fast_pow(x, y) fast_exp2((y)*fast_log2(x))

// --- bits
#define KILN_BIT_OPS(T, Wide, SignedWide, width)                                                   \
    static inline u32 kiln_popcount_##T(T x)                                                       \
    {                                                                                              \
        return (u32)__builtin_popcountll(x);                                                       \
    }                                                                                              \
    static inline u32 kiln_leading_zeros_##T(T x)                                                  \
    {                                                                                              \
        return x ? (u32)__builtin_clzll(x) - (64 - width) : width;                                 \
    }                                                                                              \
    static inline u32 kiln_trailing_zeros_##T(T x)                                                 \
    {                                                                                              \
        return x ? (u32)__builtin_ctzll(x) : width;                                                \
    }                                                                                              \
    static inline T kiln_reverse_bits_##T(T x)                                                     \
    {                                                                                              \
        T r = 0;                                                                                   \
        for (u32 i = 0; i < width; i++)                                                            \
            r |= (x >> i & 1) << (width - 1 - i);                                                  \
        return r;                                                                                  \
    }                                                                                              \
    static inline T kiln_funnel_left_##T(T high, T low, u32 count)                                 \
    {                                                                                              \
        count %= width;                                                                            \
        return count ? high << count | low >> (width - count) : high;                              \
    }                                                                                              \
    static inline T kiln_mul_high_##T(T a, T b)                                                    \
    {                                                                                              \
        return (T)((Wide)a * b >> width);                                                          \
    }                                                                                              \
    static inline i##width kiln_mul_high_i##width(i##width a, i##width b)                          \
    {                                                                                              \
        return (i##width)((SignedWide)a * b >> width);                                             \
    }
__extension__ typedef unsigned __int128 kiln_u128;
__extension__ typedef __int128 kiln_i128;
KILN_BIT_OPS(u32, u64, i64, 32)
KILN_BIT_OPS(u64, kiln_u128, kiln_i128, 64)
#define popcount(x)            KILN_BY_WORD(kiln_popcount, (x) + 0)(x)
#define leading_zeros(x)       KILN_BY_WORD(kiln_leading_zeros, (x) + 0)(x)
#define trailing_zeros(x)      KILN_BY_WORD(kiln_trailing_zeros, (x) + 0)(x)
#define reverse_bits(x)        KILN_BY_WORD(kiln_reverse_bits, (x) + 0)(x)
#define rotate_left(x, count)  KILN_BY_WORD(kiln_funnel_left, (x) + 0)(x, x, count)
#define rotate_right(x, count) KILN_BY_WORD(kiln_funnel_left, (x) + 0)(x, x, 0u - (u32)(count))
#define funnel_left(high, low, count)                                                              \
    KILN_BY_WORD(kiln_funnel_left, (high) + (low))(high, low, count)
#define mul_high(a, b) KILN_BY_INT(kiln_mul_high, (a) + (b))(a, b)

static inline u32 permute_bytes(u32 low, u32 high, u32 selector)
{
    u64 bytes = (u64)high << 32 | low;
    u32 result = 0;
    for (u32 i = 0; i < 4; i++) {
        u32 pick = selector >> (4 * i) & 15;
        u32 byte = (u32)(bytes >> (8 * (pick & 7))) & 255;
        if (pick & 8)
            byte = byte & 128 ? 255 : 0;
        result |= byte << (8 * i);
    }
    return result;
}
static inline i32 dot4_i8(u32 a, u32 b, i32 c)
{
    for (u32 i = 0; i < 32; i += 8)
        c = (i32)((u32)c + (u32)((i8)(a >> i) * (i8)(b >> i)));
    return c;
}
static inline u32 dot4_u8(u32 a, u32 b, u32 c)
{
    for (u32 i = 0; i < 32; i += 8)
        c += (a >> i & 255) * (b >> i & 255);
    return c;
}
static inline i32 unpack_i4(u32 word, u32 k)
{
    i32 v = (i32)(word >> (4 * (k & 7)) & 15);
    return v < 8 ? v : v - 16;
}
static inline u32 pack_i4(u32 word, u32 k, i32 value)
{
    u32 at = 4 * (k & 7);
    return (word & ~(15u << at)) | ((u32)value & 15) << at;
}

#endif
