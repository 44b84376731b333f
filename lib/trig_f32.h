// sin and cos of f32 in Kiln C, whole range; host compilers read the same text.
//
// x = q pi/2 + r with |r| <= pi/4, r kept in two parts. Moderate arguments subtract pi/2 in three parts; huge ones
// multiply the mantissa with the bits of 2/pi that matter, in integers.
#ifndef KILN_LIB_TRIG_F32_H
#define KILN_LIB_TRIG_F32_H
#include "core_f32.h"

typedef struct k_turn32 {
    f32 r, low;
    u32 quadrant;
} k_turn32;

// 32 zero bits, then 2/pi
static const u32 k_two_over_pi_32[10] = {
    0, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au,
};

static inline k_turn32 k_turn_huge_f32(f32 x)
{
    u32 bits = bits_f32(x), m = (bits & 0x7fffffu) | 0x800000u;
    u32 at = (bits >> 23 & 255) - 120; // the first bit whose product with m is below 4
    u32 word = at >> 5, shift = at & 31;
    word = word > 6 ? 6 : word; // inside, whatever x is
    u32 w0 = k_two_over_pi_32[word], w1 = k_two_over_pi_32[word + 1], w2 = k_two_over_pi_32[word + 2], w3 = k_two_over_pi_32[word + 3];
    u64 low = (u64)funnel_left(w2, w3, shift) * m;
    u64 middle = (u64)funnel_left(w1, w2, shift) * m + (low >> 32);
    u32 high = funnel_left(w0, w1, shift) * m + (u32)(middle >> 32);
    u64 turn = (u64)high << 32 | (u32)middle; // in quarters: 2 bits before the point, 62 after
    f64 r = (f64)(i64)(turn << 2) * 0x1.921fb54442d18p-64;
    u32 quadrant = (u32)((turn + ((u64)1 << 61)) >> 62);
    bool is_negative = bits >> 31 != 0;
    r = is_negative ? -r : r;
    f32 top = (f32)r;
    return (k_turn32){top, (f32)(r - (f64)top), is_negative ? 0u - quadrant : quadrant};
}

static inline k_turn32 k_turn_f32(f32 x)
{
    if (!(fabs(x) < 32768.0f))
        return k_turn_huge_f32(x);
    f32 t = fma(x, 0.636619747f, KILN_ROUND32), n = t - KILN_ROUND32;
    f32 r = fma(n, -1.57079637f, x); // exact
    f32 p = n * 4.37113883e-8f, p_low = fma(n, 4.37113883e-8f, -p);
    f32 high = r + p, low = (r - high) + p;
    return (k_turn32){high, fma(n, 1.71512451e-15f, low + p_low), bits_f32(t)};
}

static inline f32 k_sin_of_turn_f32(k_turn32 a)
{
    f32 r = a.r, z = r * r;
    f32 s = fma(-0.000195184359f, z, 0.0083321901f);
    s = fma(s, z, -0.166666552f);
    s = r + fma(r * z, s, a.low);
    f32 c = fma(2.44307157e-5f, z, -0.00138873013f);
    c = fma(c, z, 0.0416666456f);
    c = fma(c, z, -0.5f);
    f32 z_low = fma(r, r, -z); // and 2 r low
    c = 1.0f + fma(z, c, -fma(r, a.low, 0.5f * z_low));
    f32 y = a.quadrant & 1 ? c : s;
    return a.quadrant & 2 ? -y : y;
}

static inline f32 k_sin_f32(f32 x)
{
    f32 y = k_sin_of_turn_f32(k_turn_f32(x));
    y = fabs(x) < 2e-4f ? x : y;
    return fabs(x) < KILN_INF32 ? y : x - x;
}

static inline f32 k_cos_f32(f32 x)
{
    k_turn32 a = k_turn_f32(x);
    a.quadrant += 1;
    f32 y = k_sin_of_turn_f32(a);
    return fabs(x) < KILN_INF32 ? y : x - x;
}
#endif
