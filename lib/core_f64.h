// What the f64 texts of the math library share: special values, powers of two, exact sums and products.
#ifndef KILN_LIB_CORE_F64_H
#define KILN_LIB_CORE_F64_H

#define KILN_INF64 f64_from_bits(0x7ff0000000000000u)
#define KILN_NAN64 f64_from_bits(0x7ff8000000000000u)
#define KILN_ROUND64 6755399441055744.0 // adding it rounds to an integer, which is then found in the low bits

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
