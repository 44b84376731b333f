// Narrow floats and packed pairs for the host's compiler (see kernel.h), in plain integer
// arithmetic: nearest, ties to even. A format is its exponent and mantissa bits; f8e4 has no
// infinity and the f8 formats saturate.
#ifndef KILN_HOST_NARROW_H
#define KILN_HOST_NARROW_H

static inline u32 kiln_narrow(f64 x, u32 exponent_bits, u32 mantissa_bits, u32 largest,
                              bool saturates)
{
    u64 bits = bits_f64(x), magnitude = bits & ~(1ull << 63);
    u32 sign = (u32)(bits >> 63) << (exponent_bits + mantissa_bits);
    if (magnitude > 0x7ffull << 52)
        return sign | ((1u << (exponent_bits + mantissa_bits)) - 1);
    i32 exponent = (i32)(magnitude >> 52) - 1023, lowest = 2 - (1 << (exponent_bits - 1));
    u64 mantissa = (magnitude & ((1ull << 52) - 1)) | 1ull << 52;
    i32 drop = 52 - (i32)mantissa_bits + (exponent < lowest ? lowest - exponent : 0);
    if (drop > 54)
        return sign; // below half of the smallest number, f64's own denormals too
    u64 kept = mantissa >> drop, rest = mantissa & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1));
    if (exponent > lowest)
        kept += (u64)(exponent - lowest) << mantissa_bits;
    if (kept > largest)
        kept = saturates ? largest : largest + 1;
    return sign | (u32)kept;
}
static inline f32 kiln_widen(u32 bits, u32 exponent_bits, u32 mantissa_bits, u32 largest)
{
    u32 magnitude = bits & ((1u << (exponent_bits + mantissa_bits)) - 1);
    bool negative = bits >> (exponent_bits + mantissa_bits) & 1;
    u32 exponent = magnitude >> mantissa_bits, mantissa = magnitude & ((1u << mantissa_bits) - 1);
    i32 scale = 2 - (1 << (exponent_bits - 1)) - (i32)mantissa_bits;
    f32 value = magnitude > largest + 1 ? NAN : INFINITY;
    if (magnitude == largest + 1 && exponent_bits == 4)
        value = NAN;
    if (magnitude <= largest)
        value = exponent ? __builtin_ldexpf((f32)(mantissa | 1u << mantissa_bits),
                                            scale + (i32)exponent - 1)
                         : __builtin_ldexpf((f32)mantissa, scale);
    return negative ? -value : value;
}

// clang-format off
static inline f16  kiln_f16_of(f64 x)  { return f16_from_bits((u16)kiln_narrow(x, 5, 10, 0x7bff, false)); }
static inline bf16 kiln_bf16_of(f64 x) { return bf16_from_bits((u16)kiln_narrow(x, 8, 7, 0x7f7f, false)); }
static inline f16  to_f16(f32 x)   { return kiln_f16_of((f64)x); }
static inline bf16 to_bf16(f32 x)  { return kiln_bf16_of((f64)x); }
static inline f8e4 to_f8e4(f32 x)  { return f8e4_from_bits((u8)kiln_narrow((f64)x, 4, 3, 0x7e, true)); }
static inline f8e5 to_f8e5(f32 x)  { return f8e5_from_bits((u8)kiln_narrow((f64)x, 5, 2, 0x7b, true)); }
static inline f32 kiln_f32_f16(f16 x)   { return kiln_widen(x.bits, 5, 10, 0x7bff); }
static inline f32 kiln_f32_bf16(bf16 x) { return f32_from_bits((u32)x.bits << 16); }
static inline f32 kiln_f32_f8e4(f8e4 x) { return kiln_widen(x.bits, 4, 3, 0x7e); }
static inline f32 kiln_f32_f8e5(f8e5 x) { return kiln_widen(x.bits, 5, 2, 0x7b); }
static inline f32 kiln_f32_i32(i32 x) { return (f32)x; }
static inline f32 kiln_f32_u32(u32 x) { return (f32)x; }
static inline f32 kiln_f32_i64(i64 x) { return (f32)x; }
static inline f32 kiln_f32_u64(u64 x) { return (f32)x; }
static inline f32 kiln_f32_f32(f32 x) { return x; }
static inline f32 kiln_f32_f64(f64 x) { return (f32)x; }
#define f32(v)                                                                                                   \
    _Generic((v), f16: kiln_f32_f16, bf16: kiln_f32_bf16, f8e4: kiln_f32_f8e4, f8e5: kiln_f32_f8e5, int: kiln_f32_i32, \
        unsigned: kiln_f32_u32, long: kiln_f32_i64, unsigned long: kiln_f32_u64, long long: kiln_f32_i64,        \
        unsigned long long: kiln_f32_u64, float: kiln_f32_f32, double: kiln_f32_f64)(v)
// clang-format on

// Pairs: each half rounds once. f64 holds products exactly and sums closely enough; a * b + c keeps
// what the sum lost in its last bit (rounding to odd), so that the second rounding sees it.
static inline f64 kiln_fma_odd(f64 a, f64 b, f64 c)
{
    f64 product = a * b, sum = product + c, back = sum - product;
    f64 lost = (product - (sum - back)) + (c - back);
    u64 bits = bits_f64(sum);
    if (kiln_isfinite_f64(sum) && lost != 0 && !(bits & 1))
        sum = f64_from_bits((lost > 0) == (sum > 0) ? bits + 1 : bits - 1);
    return sum;
}
#define KILN_PAIRS(H)                                                                              \
    static inline H##x2 to_##H##x2(f32 x, f32 y)                                                   \
    {                                                                                              \
        return (H##x2){to_##H(x), to_##H(y)};                                                      \
    }                                                                                              \
    static inline H kiln_half_add_##H(f64 a, f64 b)                                                \
    {                                                                                              \
        return kiln_##H##_of(a + b);                                                               \
    }                                                                                              \
    static inline H kiln_half_sub_##H(f64 a, f64 b)                                                \
    {                                                                                              \
        return kiln_##H##_of(a - b);                                                               \
    }                                                                                              \
    static inline H kiln_half_mul_##H(f64 a, f64 b)                                                \
    {                                                                                              \
        return kiln_##H##_of(a * b);                                                               \
    }                                                                                              \
    static inline H kiln_half_min_##H(f64 a, f64 b)                                                \
    {                                                                                              \
        return kiln_##H##_of(kiln_min_f64(a, b));                                                  \
    }                                                                                              \
    static inline H kiln_half_max_##H(f64 a, f64 b)                                                \
    {                                                                                              \
        return kiln_##H##_of(kiln_max_f64(a, b));                                                  \
    }                                                                                              \
    KILN_PAIR_OP(H, add)                                                                           \
    KILN_PAIR_OP(H, sub)                                                                           \
    KILN_PAIR_OP(H, mul)                                                                           \
    KILN_PAIR_OP(H, min)                                                                           \
    KILN_PAIR_OP(H, max)                                                                           \
    static inline H##x2 kiln_fma2_##H##x2(H##x2 a, H##x2 b, H##x2 c)                               \
    {                                                                                              \
        return (H##x2){kiln_##H##_of(kiln_fma_odd((f64)kiln_f32_##H(a.x), (f64)kiln_f32_##H(b.x),  \
                                                  (f64)kiln_f32_##H(c.x))),                        \
                       kiln_##H##_of(kiln_fma_odd((f64)kiln_f32_##H(a.y), (f64)kiln_f32_##H(b.y),  \
                                                  (f64)kiln_f32_##H(c.y)))};                       \
    }
#define KILN_PAIR_OP(H, op)                                                                        \
    static inline H##x2 kiln_##op##2_##H##x2(H##x2 a, H##x2 b)                                     \
    {                                                                                              \
        return (H##x2){kiln_half_##op##_##H((f64)kiln_f32_##H(a.x), (f64)kiln_f32_##H(b.x)),       \
                       kiln_half_##op##_##H((f64)kiln_f32_##H(a.y), (f64)kiln_f32_##H(b.y))};      \
    }
KILN_PAIRS(f16)
KILN_PAIRS(bf16)
#define KILN_BY_PAIR(name, x) _Generic((x), f16x2 : name##_f16x2, bf16x2 : name##_bf16x2)
#define add2(a, b)            KILN_BY_PAIR(kiln_add2, a)(a, b)
#define sub2(a, b)            KILN_BY_PAIR(kiln_sub2, a)(a, b)
#define mul2(a, b)            KILN_BY_PAIR(kiln_mul2, a)(a, b)
#define min2(a, b)            KILN_BY_PAIR(kiln_min2, a)(a, b)
#define max2(a, b)            KILN_BY_PAIR(kiln_max2, a)(a, b)
#define fma2(a, b, c)         KILN_BY_PAIR(kiln_fma2, a)(a, b, c)

#endif
