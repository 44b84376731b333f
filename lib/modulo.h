// fmod and remainder in Kiln C: long division of the mantissas, exact; host compilers read the same text.
#ifndef KILN_LIB_MODULO_H
#define KILN_LIB_MODULO_H
#include "core_f32.h"
#include "core_f64.h"

typedef struct k_division {
    u64 rest;
    bool is_odd; // the quotient
} k_division;

// a 2^shift divided by b, as many bits a step as 64 hold; 0 < b < 2^54
static inline k_division k_divide(u64 a, u64 b, u32 shift)
{
    u32 room = leading_zeros(b);
    u64 quotient = a / b;
    u64 rest = a - quotient * b;
    while (shift > 0) {
        u32 step = shift < room ? shift : room;
        quotient = (rest << step) / b;
        rest = (rest << step) - quotient * b;
        shift -= step;
    }
    return (k_division){rest, (quotient & 1) != 0};
}

// m 2^(exponent - 1) units of the smallest subnormal, m < 2^24 (2^53): exact
static inline f32 k_build_f32(u32 m, u32 exponent)
{
    u32 shift = leading_zeros(m) - 8;
    shift = m == 0 || shift > exponent - 1 ? exponent - 1 : shift;
    m <<= shift & 31;
    return f32_from_bits(m < 0x800000u ? m : m + ((exponent - 1 - shift) << 23));
}

static inline f64 k_build_f64(u64 m, u32 exponent)
{
    u32 shift = leading_zeros(m) - 11;
    shift = m == 0 || shift > exponent - 1 ? exponent - 1 : shift;
    m <<= shift & 63;
    return f64_from_bits(m < 0x10000000000000u ? m : m + ((u64)(exponent - 1 - shift) << 52));
}

static inline f32 k_fmod_f32(f32 x, f32 y)
{
    u32 a = bits_f32(x) & 0x7fffffffu, b = bits_f32(y) & 0x7fffffffu;
    if (b == 0 || a >= 0x7f800000u || b > 0x7f800000u)
        return KILN_NAN32;
    if (a < b)
        return x;
    u32 ea = max(a >> 23, 1u), eb = max(b >> 23, 1u);
    a = a >> 23 ? (a & 0x7fffffu) | 0x800000u : a;
    b = b >> 23 ? (b & 0x7fffffu) | 0x800000u : b;
    return copysign(k_build_f32((u32)k_divide(a, b, ea - eb).rest, eb), x);
}

static inline f64 k_fmod_f64(f64 x, f64 y)
{
    u64 a = bits_f64(x) & 0x7fffffffffffffffu, b = bits_f64(y) & 0x7fffffffffffffffu;
    if (b == 0 || a >= 0x7ff0000000000000u || b > 0x7ff0000000000000u)
        return KILN_NAN64;
    if (a < b)
        return x;
    u32 ea = max((u32)(a >> 52), 1u), eb = max((u32)(b >> 52), 1u);
    a = a >> 52 ? (a & 0xfffffffffffffu) | 0x10000000000000u : a;
    b = b >> 52 ? (b & 0xfffffffffffffu) | 0x10000000000000u : b;
    return copysign(k_build_f64(k_divide(a, b, ea - eb).rest, eb), x);
}

static inline f32 k_remainder_f32(f32 x, f32 y)
{
    u32 a = bits_f32(x) & 0x7fffffffu, b = bits_f32(y) & 0x7fffffffu;
    if (b == 0 || a >= 0x7f800000u || b > 0x7f800000u)
        return KILN_NAN32;
    u32 ea = max(a >> 23, 1u), eb = max(b >> 23, 1u);
    if (b == 0x7f800000u || ea + 1 < eb)
        return x; // less than half of y
    a = a >> 23 ? (a & 0x7fffffu) | 0x800000u : a;
    b = b >> 23 ? (b & 0x7fffffu) | 0x800000u : b;
    if (ea < eb) {
        b <<= 1;
        eb = ea;
    }
    k_division d = k_divide(a, b, ea - eb);
    bool is_up = 2 * d.rest > b || (2 * d.rest == b && d.is_odd);
    f32 r = k_build_f32(is_up ? b - (u32)d.rest : (u32)d.rest, eb);
    return copysign(1.0f, x) * (is_up ? -r : r);
}

static inline f64 k_remainder_f64(f64 x, f64 y)
{
    u64 a = bits_f64(x) & 0x7fffffffffffffffu, b = bits_f64(y) & 0x7fffffffffffffffu;
    if (b == 0 || a >= 0x7ff0000000000000u || b > 0x7ff0000000000000u)
        return KILN_NAN64;
    u32 ea = max((u32)(a >> 52), 1u), eb = max((u32)(b >> 52), 1u);
    if (b == 0x7ff0000000000000u || ea + 1 < eb)
        return x; // less than half of y
    a = a >> 52 ? (a & 0xfffffffffffffu) | 0x10000000000000u : a;
    b = b >> 52 ? (b & 0xfffffffffffffu) | 0x10000000000000u : b;
    if (ea < eb) {
        b <<= 1;
        eb = ea;
    }
    k_division d = k_divide(a, b, ea - eb);
    bool is_up = 2 * d.rest > b || (2 * d.rest == b && d.is_odd);
    f64 r = k_build_f64(is_up ? b - d.rest : d.rest, eb);
    return copysign(1.0, x) * (is_up ? -r : r);
}
#endif
