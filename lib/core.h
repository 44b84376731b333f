// What the texts of the math library share: special values and powers of two.
#ifndef KILN_LIB_CORE_H
#define KILN_LIB_CORE_H

#define KILN_INF32 f32_from_bits(0x7f800000u)
#define KILN_NAN32 f32_from_bits(0x7fc00000u)
#define KILN_INF64 f64_from_bits(0x7ff0000000000000u)
#define KILN_NAN64 f64_from_bits(0x7ff8000000000000u)

// Adding one of these rounds to an integer, which is then found in the low bits.
#define KILN_ROUND32 12582912.0f
#define KILN_ROUND64 6755399441055744.0

// p * 2^n in two factors, so that a subnormal result rounds once; n is what KILN_ROUND left in `bits`.
static inline f32 k_scale_f32(f32 p, u32 bits)
{
    u32 half = bits >> 1;
    return p * f32_from_bits((half << 23) + 0x3f800000u) * f32_from_bits(((bits - half) << 23) + 0x3f800000u);
}

static inline f64 k_scale_f64(f64 p, u64 bits)
{
    u64 half = bits >> 1;
    return p * f64_from_bits((half << 52) + 0x3ff0000000000000u) * f64_from_bits(((bits - half) << 52) + 0x3ff0000000000000u);
}

// The exact sum of two numbers: x is the rounded one, y what is missing. k_sum_f64 wants |a| >= |b| or a = 0.
static inline f64x2 k_sum_f64(f64 a, f64 b)
{
    f64 s = a + b;
    return (f64x2){s, (a - s) + b};
}

static inline f64x2 k_sum_any_f64(f64 a, f64 b)
{
    f64 s = a + b, t = s - a;
    return (f64x2){s, (a - (s - t)) + (b - t)};
}

static inline f64x2 k_product_f64(f64 a, f64 b)
{
    f64 p = a * b;
    return (f64x2){p, fma(a, b, -p)};
}
#endif
