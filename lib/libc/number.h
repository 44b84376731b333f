// Floats from text, correctly rounded: to nearest, ties to even. The first 19 digits and a few
// 64-bit products give the number with an error that is known; only where that leaves the rounding
// open, big integers decide. Start at __k_read_float.
#pragma once

#include "payload.h"
#include <errno.h>

typedef struct __k_big { // an integer, the lowest word first
    u32 words[100];
    i32 count;
} __k_big;

typedef struct __k_digits { // 0.d1d2d3… * 10^point, without zeros at either end
    const char *first;      // the first digit; a point may stand among them
    i32 count;
    i32 point;
} __k_digits;

typedef struct __k_shape { // of a float type
    i32 bits;              // of the mantissa
    i32 lowest, highest;   // exponents of the last bit: of subnormals, of the largest number
} __k_shape;

enum { __K_DIGITS = 770 }; // what follows only tells above from equal

static void __k_big_multiply(__k_big *b, u32 factor, u32 addend)
{
    u64 carry = addend;
    for (i32 i = 0; i < b->count; i++) {
        carry += (u64)b->words[i] * factor;
        b->words[i] = (u32)carry;
        carry >>= 32;
    }
    if (carry)
        b->words[b->count++] = (u32)carry;
}

static void __k_big_times_five(__k_big *b, i32 power)
{
    for (; power >= 13; power -= 13)
        __k_big_multiply(b, 1220703125u, 0);
    for (; power > 0; power--)
        __k_big_multiply(b, 5u, 0);
}

static void __k_big_shift(__k_big *b, i32 by)
{
    i32 words = by / 32, bits = by % 32;
    if (bits)
        __k_big_multiply(b, 1u << bits, 0);
    if (!words || !b->count)
        return;
    for (i32 i = b->count - 1; i >= 0; i--)
        b->words[i + words] = b->words[i];
    for (i32 i = 0; i < words; i++)
        b->words[i] = 0;
    b->count += words;
}

// The digits as an integer, which the power of ten in *power belongs to.
static void __k_big_of(__k_big *b, const __k_digits *d, i32 *power)
{
    i32 taken = d->count > __K_DIGITS ? __K_DIGITS : d->count;
    const char *at = d->first;
    b->count = 0;
    for (i32 i = 0; i < taken; at++) {
        if (*at < '0' || *at > '9')
            continue;
        __k_big_multiply(b, 10u, (u32)(*at - '0'));
        i++;
    }
    if (taken < d->count) { // the last digit is not 0
        __k_big_multiply(b, 10u, 1u);
        taken++;
    }
    *power = d->point - taken;
}

// How the digits compare with mantissa * 2^exponent: below 0, 0, above 0.
static noinline i32 __k_compare(const __k_digits *d, u64 mantissa, i32 exponent)
{
    __k_big left, right;
    i32 power;
    __k_big_of(&left, d, &power);
    right.words[0] = (u32)mantissa;
    right.words[1] = (u32)(mantissa >> 32);
    right.count = mantissa >> 32 ? 2 : mantissa ? 1 : 0;
    __k_big_times_five(&left, power);
    __k_big_times_five(&right, -power);
    __k_big_shift(&left, power > exponent ? power - exponent : 0);
    __k_big_shift(&right, exponent > power ? exponent - power : 0);
    if (left.count != right.count)
        return left.count < right.count ? -1 : 1;
    for (i32 i = left.count - 1; i >= 0; i--)
        if (left.words[i] != right.words[i])
            return left.words[i] < right.words[i] ? -1 : 1;
    return 0;
}

// 10^(2^n) and 10^-(2^n) as mantissa * 2^exponent, the mantissas with 64 bits.
static const u64 __k_ten_mantissa[18] = {
    0xa000000000000000, 0xc800000000000000, 0x9c40000000000000, 0xbebc200000000000,
    0x8e1bc9bf04000000, 0x9dc5ada82b70b59e, 0xc2781f49ffcfa6d5, 0x93ba47c980e98ce0,
    0xaa7eebfb9df9de8e, 0xcccccccccccccccd, 0xa3d70a3d70a3d70a, 0xd1b71758e219652c,
    0xabcc77118461cefd, 0xe69594bec44de15b, 0xcfb11ead453994ba, 0xa87fea27a539e9a5,
    0xddd0467c64bce4a1, 0xc0314325637a193a};
static const i16 __k_ten_exponent[18] = {-60, -57, -50, -37, -10,  43,   149,  362,  787,
                                         -67, -70, -77, -90, -117, -170, -276, -489, -914};

// mantissa * 2^*exponent with 64 bits, at most 64 units off.
static u64 __k_approximate(const __k_digits *d, i32 *exponent)
{
    u64 mantissa = 0;
    i32 taken = 0;
    for (const char *at = d->first; taken < d->count && taken < 19; at++) {
        if (*at < '0' || *at > '9')
            continue;
        mantissa = mantissa * 10u + (u64)(*at - '0');
        taken++;
    }
    i32 power = d->point - taken, shift = (i32)leading_zeros(mantissa);
    mantissa <<= shift;
    *exponent = -shift;
    i32 row = power < 0 ? 9 : 0;
    for (u32 left = (u32)(power < 0 ? -power : power); left; left >>= 1, row++) {
        if (!(left & 1u))
            continue;
        mantissa = mul_high(mantissa, __k_ten_mantissa[row]);
        *exponent += __k_ten_exponent[row] + 64;
        if (!(mantissa >> 63)) {
            mantissa <<= 1;
            *exponent -= 1;
        }
    }
    return mantissa;
}

// The bits of mantissa * 2^exponent, which is not rounded any more; too large: infinity.
static u64 __k_assemble(u64 mantissa, i32 exponent, const __k_shape *shape)
{
    u64 hidden = 1ull << (shape->bits - 1);
    if (mantissa == hidden << 1) {
        mantissa = hidden;
        exponent++;
    }
    if (exponent > shape->highest) {
        errno = ERANGE;
        return (u64)(shape->highest - shape->lowest + 2) << (shape->bits - 1);
    }
    if (mantissa < hidden) // subnormal
        return mantissa;
    return ((u64)(exponent - shape->lowest) << (shape->bits - 1)) + mantissa;
}

static noinline u64 __k_round_decimal(const __k_digits *d, const __k_shape *shape)
{
    if (!d->count)
        return 0;
    if (d->point > 400)
        return __k_assemble(1ull << (shape->bits - 1), shape->highest + 1, shape);
    if (d->point < -400) {
        errno = ERANGE;
        return 0;
    }
    i32 exponent;
    u64 mantissa = __k_approximate(d, &exponent);
    i32 shift = 64 - shape->bits;
    if (exponent + shift < shape->lowest)
        shift = shape->lowest - exponent;
    if (shift == 65) { // half of the smallest number, or just below it
        mantissa >>= 1;
        exponent++;
        shift = 64;
    }
    if (shift > 64) {
        errno = ERANGE;
        return 0;
    }
    u64 kept = shift == 64 ? 0u : mantissa >> shift, half = 1ull << (shift - 1);
    u64 rest = shift == 64 ? mantissa : mantissa & ((half << 1) - 1u);
    bool is_up = rest > half;
    u64 distance = is_up ? rest - half : half - rest;
    if (distance <= 64u) {
        i32 order = __k_compare(d, 2 * kept + 1, exponent + shift - 1);
        is_up = order > 0 || (order == 0 && kept & 1u);
    }
    kept += is_up ? 1u : 0u;
    u64 hidden = 1ull << (shape->bits - 1);
    if (kept < hidden && __k_compare(d, kept, exponent + shift))
        errno = ERANGE; // subnormal, and not exact
    if (kept == hidden && exponent + shift == shape->lowest &&
        __k_compare(d, 4 * hidden - 1, shape->lowest - 2) < 0)
        errno = ERANGE; // with more room for the exponent it would be below the normal numbers
    return __k_assemble(kept, exponent + shift, shape);
}

static u64 __k_round_hex(u64 mantissa, i64 power, bool has_rest, const __k_shape *shape)
{
    if (!mantissa)
        return 0;
    i32 shift = (i32)leading_zeros(mantissa);
    mantissa <<= shift;
    power -= shift;
    if (power > 4000)
        power = 4000;
    if (power < -4000)
        power = -4000;
    i32 exponent = (i32)power, drop = 64 - shape->bits;
    if (exponent + drop < shape->lowest)
        drop = shape->lowest - exponent;
    if (drop > 64) {
        errno = ERANGE;
        return 0;
    }
    u64 kept = drop == 64 ? 0u : mantissa >> drop, half = 1ull << (drop - 1);
    u64 rest = drop == 64 ? mantissa : mantissa & ((half << 1) - 1u);
    bool is_exact = !rest && !has_rest;
    if (rest > half || (rest == half && (has_rest || kept & 1u)))
        kept++;
    bool is_next = drop == 65 - shape->bits && mantissa < 0u - (1ull << (63 - shape->bits));
    if (kept < 1ull << (shape->bits - 1) ? !is_exact : is_next)
        errno = ERANGE;
    return __k_assemble(kept, exponent + drop, shape);
}

static char __k_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

// The length of `word`, in any case, at `at`; 0: it is not there.
static i32 __k_is_word(const char *at, const char *word)
{
    i32 n = 0;
    for (; word[n]; n++)
        if (__k_lower(at[n]) != word[n])
            return 0;
    return n;
}

static i32 __k_hex_value(char c)
{
    char low = __k_lower(c);
    return c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

// e+12: the number in *value; gives where it ends, or `at` when there is none.
static const char *__k_read_exponent(const char *at, char letter, i64 *value)
{
    const char *digit = at + 1;
    *value = 0;
    if (__k_lower(*at) != letter)
        return at;
    bool is_negative = *digit == '-';
    if (*digit == '-' || *digit == '+')
        digit++;
    if (*digit < '0' || *digit > '9')
        return at;
    for (; *digit >= '0' && *digit <= '9'; digit++)
        *value = *value > 100000000 ? *value : *value * 10 + (*digit - '0');
    if (is_negative)
        *value = -*value;
    return digit;
}

static const char *__k_read_hex(const char *at, const __k_shape *shape, u64 *bits)
{
    u64 mantissa = 0;
    i64 power = 0, more;
    bool has_point = false, has_rest = false;
    for (;; at++) {
        i32 digit = __k_hex_value(*at);
        if (*at == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (digit < 0)
            break;
        if (mantissa >> 60) {
            has_rest = has_rest || digit;
            power += has_point ? 0 : 4;
        } else {
            mantissa = mantissa << 4 | (u64)digit;
            power -= has_point ? 4 : 0;
        }
    }
    at = __k_read_exponent(at, 'p', &more);
    *bits = __k_round_hex(mantissa, power + more, has_rest, shape);
    return at;
}

// NULL: no digit stands here.
static const char *__k_read_decimal(const char *at, const __k_shape *shape, u64 *bits)
{
    __k_digits d = {.first = at};
    i64 digits = 0, point = 0, last = 0,
        more; // digits after the zeros in front; the last non-zero one
    bool has_point = false, has_digit = false;
    for (;; at++) {
        if (*at == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (*at < '0' || *at > '9')
            break;
        has_digit = true;
        if (!digits && *at == '0') {
            point -= has_point ? 1 : 0;
            continue;
        }
        if (!digits)
            d.first = at;
        digits++;
        point += has_point ? 0 : 1;
        last = *at != '0' ? digits : last;
    }
    if (!has_digit)
        return NULL;
    at = __k_read_exponent(at, 'e', &more);
    point += more;
    d.count = last > 1000000 ? 1000000 : (i32)last;
    d.point = point > 100000 ? 100000 : point < -100000 ? -100000 : (i32)point;
    *bits = __k_round_decimal(&d, shape);
    return at;
}

// The bits of the number at `s`, without its sign bit; *end is `s` when there is none.
static noinline u64 __k_read_float(const char *s, const char **end, const __k_shape *shape,
                                   bool *is_negative)
{
    const char *at = s;
    u64 bits = 0, infinity = (u64)(shape->highest - shape->lowest + 2) << (shape->bits - 1);
    *is_negative = false;
    *end = s;
    while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
        at++;
    if (*at == '-' || *at == '+') {
        *is_negative = *at == '-';
        at++;
    }
    i32 word = __k_is_word(at, "infinity");
    if (!word)
        word = __k_is_word(at, "inf");
    if (word) {
        *end = at + word;
        return infinity;
    }
    if (__k_is_word(at, "nan")) {
        const char *close = at + 4;
        *end = at + 3;
        while (*close == '_' || (*close >= '0' && *close <= '9') ||
               (__k_lower(*close) >= 'a' && __k_lower(*close) <= 'z'))
            close++;
        u64 quiet = 1ull << (shape->bits - 2), payload = 0;
        if (at[3] == '(' && *close == ')') {
            *end = close + 1;
            if (!__k_payload(at + 4, ')', &payload))
                errno = ERANGE;
        }
        return infinity | quiet | (payload & (quiet - 1u));
    }
    bool is_hex = *at == '0' && __k_lower(at[1]) == 'x' &&
                  (__k_hex_value(at[2]) >= 0 || (at[2] == '.' && __k_hex_value(at[3]) >= 0));
    at = is_hex ? __k_read_hex(at + 2, shape, &bits) : __k_read_decimal(at, shape, &bits);
    if (at)
        *end = at;
    else
        *is_negative = false;
    return bits;
}

static double strtod(const char *s, char **end)
{
    const __k_shape shape = {53, -1074, 971};
    const char *stop;
    bool is_negative;
    u64 bits = __k_read_float(s, &stop, &shape, &is_negative);
    if (end)
        *end = (char *)stop;
    return f64_from_bits(bits | (is_negative ? 1ull << 63 : 0u));
}

static float strtof(const char *s, char **end)
{
    const __k_shape shape = {24, -149, 104};
    const char *stop;
    bool is_negative;
    u64 bits = __k_read_float(s, &stop, &shape, &is_negative);
    if (end)
        *end = (char *)stop;
    return f32_from_bits((u32)bits | (is_negative ? 1u << 31 : 0u));
}
