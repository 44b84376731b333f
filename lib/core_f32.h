// What the f32 texts of the math library share: special values and powers of two.
#ifndef KILN_LIB_CORE_F32_H
#define KILN_LIB_CORE_F32_H

#define KILN_INF32 f32_from_bits(0x7f800000u)
#define KILN_NAN32 f32_from_bits(0x7fc00000u)
#define KILN_ROUND32 12582912.0f // adding it rounds to an integer, which is then found in the low bits

// p * 2^n in two factors, so that a subnormal result rounds once; n is what KILN_ROUND left in `bits`.
static inline f32 k_scale_f32(f32 p, u32 bits)
{
    u32 half = bits >> 1;
    return p * f32_from_bits((half << 23) + 0x3f800000u) * f32_from_bits(((bits - half) << 23) + 0x3f800000u);
}
#endif
