// sin and cos of f64 in Kiln C, whole range; host compilers read the same text.
//
// x = q pi/2 + r with |r| <= pi/4, r kept in two parts. Moderate arguments subtract pi/2 in three parts; huge ones
// multiply the mantissa with the bits of 2/pi that matter, in integers.
#ifndef KILN_LIB_TRIG_F64_H
#define KILN_LIB_TRIG_F64_H
#include "core_f64.h"

typedef struct k_turn64 {
    f64 r, low;
    u32 quadrant;
} k_turn64;

// 64 zero bits, then 2/pi
static const u64 k_two_over_pi_64[21] = {
    0,
    0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u, 0xfe5163abdebbc561u, 0xb7246e3a424dd2e0u,
    0x06492eea09d1921cu, 0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u, 0xe99c7026b45f7e41u, 0x3991d639835339f4u,
    0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu, 0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du,
    0x7527bac7ebe5f17bu, 0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu, 0xf0cfbc209af4361du,
};

static inline k_turn64 k_turn_huge_f64(f64 x)
{
    u64 bits = bits_f64(x), m = (bits & 0xfffffffffffffu) | 0x10000000000000u;
    u32 at = (u32)(bits >> 52 & 2047) - 1013; // the first bit whose product with m is below 4
    u32 word = at >> 6, shift = at & 63;
    word = word > 17 ? 17 : word; // inside, whatever x is
    u64 w0 = k_two_over_pi_64[word], w1 = k_two_over_pi_64[word + 1], w2 = k_two_over_pi_64[word + 2], w3 = k_two_over_pi_64[word + 3];
    w0 = funnel_left(w0, w1, shift);
    w1 = funnel_left(w1, w2, shift);
    w2 = funnel_left(w2, w3, shift);
    u64 low = w1 * m, carry = mul_high(w2, m);
    low += carry;
    u64 high = w0 * m + mul_high(w1, m) + (low < carry ? 1u : 0u);
    u32 quadrant = (u32)((high + ((u64)1 << 61)) >> 62);
    high = high << 2 | low >> 62; // the signed fraction of a quarter turn, 128 bits
    low <<= 2;
    bool is_negative = high >> 63 != 0;
    high = is_negative ? ~high : high; // one unit in 2^128 does not count
    low = is_negative ? ~low : low;
    u32 zeros = leading_zeros(high);
    zeros = zeros > 63 ? 63 : zeros;
    high = funnel_left(high, low, zeros);
    low <<= zeros;
    f64 scale = f64_from_bits((u64)(1023 - 64 - zeros) << 52);
    f64 top = (f64)(i64)(high >> 11) * (2048.0 * scale);
    f64 rest = (f64)(i64)((high << 53 | low >> 11) >> 11) * (0x1p-42 * scale);
    f64 r = top * 0x1.921fb54442d18p+0;
    f64 r_low = fma(top, 0x1.921fb54442d18p+0, -r) + fma(top, 0x1.1a62633145c07p-54, rest * 0x1.921fb54442d18p+0);
    bool flip = is_negative != (bits >> 63 != 0);
    f64x2 sum = k_sum_f64(r, r_low);
    return (k_turn64){flip ? -sum.x : sum.x, flip ? -sum.y : sum.y, bits >> 63 ? 0u - quadrant : quadrant};
}

static inline k_turn64 k_turn_f64(f64 x)
{
    if (!(fabs(x) < 1e6))
        return k_turn_huge_f64(x);
    f64 t = fma(x, 0.636619772367581382, KILN_ROUND64), n = t - KILN_ROUND64;
    f64 r = fma(n, -0x1.921fb54442d18p+0, x); // exact
    f64 p = n * -0x1.1a62633145c07p-54, p_low = fma(n, -0x1.1a62633145c07p-54, -p);
    f64 high = r + p, low = (r - high) + p;
    return (k_turn64){high, fma(n, 0x1.f1976b7ed8fbcp-110, low + p_low), (u32)bits_f64(t)};
}

// sin(r + low) - r
static inline f64 k_sin_tail_f64(f64 r, f64 low)
{
    f64 z = r * r;
    f64 s = fma(1.58966630361657143e-10, z, -2.50507559080405599e-8);
    s = fma(s, z, 2.75573136783888375e-6);
    s = fma(s, z, -0.000198412698297706819);
    s = fma(s, z, 0.00833333333332236977);
    s = fma(s, z, -0.166666666666666324);
    return fma(r * z, s, fma(low * z, -0.5, low));
}

// cos(r + low) in two parts
static inline f64x2 k_cos_parts_f64(f64 r, f64 low)
{
    f64 z = r * r, z_low = fma(r, r, -z);
    f64 c = fma(-1.13595621442446915e-11, z, 2.08757216778663922e-9);
    c = fma(c, z, -2.75573143410557549e-7);
    c = fma(c, z, 0.0000248015872894448539);
    c = fma(c, z, -0.00138888888888740662);
    c = fma(c, z, 0.0416666666666666019);
    f64x2 sum = k_sum_f64(1.0, -0.5 * z);
    return k_sum_f64(sum.x, sum.y + fma(z * z, c, fma(-r, low, -0.5 * z_low)));
}

static inline f64 k_sin_of_turn_f64(k_turn64 a)
{
    f64x2 c = k_cos_parts_f64(a.r, a.low);
    f64 y = a.quadrant & 1 ? c.x + c.y : a.r + k_sin_tail_f64(a.r, a.low);
    return a.quadrant & 2 ? -y : y;
}

static inline f64 k_sin_f64(f64 x)
{
    f64 y = k_sin_of_turn_f64(k_turn_f64(x));
    y = fabs(x) < 1e-8 ? x : y;
    return fabs(x) < KILN_INF64 ? y : x - x;
}

static inline f64 k_cos_f64(f64 x)
{
    k_turn64 a = k_turn_f64(x);
    a.quadrant += 1;
    f64 y = k_sin_of_turn_f64(a);
    return fabs(x) < KILN_INF64 ? y : x - x;
}
#endif
