// The printf family on text: a format and its arguments become bytes, with C's rules and, where C
// leaves it open, glibc's. Start at __k_format. %n is refused: a format that writes is a mistake
// more often than a wish.
#pragma once

#include "decimal.h"
#include <stdarg.h>

// Bytes `from` … `from + room - 1` of the text are kept, the others only counted. Where a string
// has all of these and more, a sink that takes them so is told where they lie.
typedef struct __k_sink {
    char *to;
    u64 room, from, count;
    bool takes_rest;
    const char *rest;
    i64 rest_length;
} __k_sink;

enum { __K_LEFT = 1, __K_PLUS = 2, __K_SPACE = 4, __K_ALT = 8, __K_ZERO = 16, __K_UPPER = 32 };

typedef struct __k_spec { // one conversion
    u32 flags;
    i32 width, precision; // precision < 0: not given
    i32 bytes;            // of an integer argument
    char letter;
    char sign; // what stands before the number, or 0
} __k_spec;

static void __k_put(__k_sink *s, char c)
{
    u64 at = s->count++ - s->from;
    if (at < s->room)
        s->to[at] = c;
}

// How many of the next bytes stand before those that are kept.
static i64 __k_skipped(const __k_sink *s, i64 length)
{
    i64 before = s->count < s->from ? (i64)(s->from - s->count) : 0;
    return before < length ? before : length;
}

static void __k_pad(__k_sink *s, char c, i64 count)
{
    if (count <= 0)
        return;
    i64 done = __k_skipped(s, count);
    s->count += (u64)done;
    for (; done < count && s->count < s->from + s->room; done++)
        __k_put(s, c);
    s->count += (u64)(count - done);
}

static void __k_put_bytes(__k_sink *s, const char *text, i64 length)
{
    i64 done = __k_skipped(s, length);
    s->count += (u64)done;
    if (s->takes_rest && s->count == s->from && length - done > (i64)s->room) {
        s->rest = text + done;
        s->rest_length = length - done;
    } else {
        for (; done < length && s->count < s->from + s->room; done++)
            __k_put(s, text[done]);
    }
    s->count += (u64)(length - done);
}

// What stands left of a number of `length` bytes; __k_close pads on the right.
static void __k_open(__k_sink *s, const __k_spec *p, i64 length, bool is_hex)
{
    i64 pad = p->width - length - (p->sign ? 1 : 0) - (is_hex ? 2 : 0);
    if (!(p->flags & (__K_LEFT | __K_ZERO)))
        __k_pad(s, ' ', pad);
    if (p->sign)
        __k_put(s, p->sign);
    if (is_hex) {
        __k_put(s, '0');
        __k_put(s, p->flags & __K_UPPER ? 'X' : 'x');
    }
    if (!(p->flags & __K_LEFT) && p->flags & __K_ZERO)
        __k_pad(s, '0', pad);
}

static void __k_close(__k_sink *s, const __k_spec *p, u64 start)
{
    if (p->flags & __K_LEFT)
        __k_pad(s, ' ', p->width - (i64)(s->count - start));
}

static void __k_put_text(__k_sink *s, const __k_spec *p, const char *text, i64 length)
{
    if (!(p->flags & __K_LEFT))
        __k_pad(s, ' ', p->width - length);
    __k_put_bytes(s, text, length);
    if (p->flags & __K_LEFT)
        __k_pad(s, ' ', p->width - length);
}

static char __k_sign(const __k_spec *p, bool is_negative)
{
    return (char)(is_negative ? '-' : p->flags & __K_PLUS ? '+' : p->flags & __K_SPACE ? ' ' : 0);
}

static char __k_hex_digit(u32 value, u32 flags)
{
    return (char)(value < 10u ? '0' + value : (flags & __K_UPPER ? 'A' : 'a') + value - 10u);
}

static noinline void __k_put_integer(__k_sink *s, const __k_spec *spec, u64 value, u32 base)
{
    char digits[24];
    __k_spec p = *spec;
    i64 count = 0;
    u64 start = s->count;
    bool is_hex = p.flags & __K_ALT && base == 16u && value;
    for (u64 rest = value; rest; rest /= base)
        digits[count++] = __k_hex_digit((u32)(rest % base), p.flags);
    i64 zeros = p.precision < 0 ? (count ? 0 : 1) : p.precision - count;
    if (base == 8u && p.flags & __K_ALT && zeros <= 0 && (value || !count))
        zeros = value || p.precision >= 0 ? 1 : zeros;
    if (zeros < 0)
        zeros = 0;
    if (p.precision >= 0)
        p.flags &= ~(u32)__K_ZERO;
    __k_open(s, &p, count + zeros, is_hex);
    __k_pad(s, '0', zeros);
    while (count)
        __k_put(s, digits[--count]);
    __k_close(s, &p, start);
}

// Digits `high` … `low` of the number, with a point before the one that counts 10^(point - 1).
static void __k_put_digits(__k_sink *s, const __k_decimal *d, i32 high, i32 low, i32 point,
                           bool has_point)
{
    for (i32 place = high; place >= low; place--) {
        __k_put(s, (char)('0' + __k_decimal_digit(d, place)));
        if (place == point && has_point)
            __k_put(s, '.');
    }
}

static void __k_put_exponent(__k_sink *s, char letter, i32 exponent, i32 least)
{
    u32 value = exponent < 0 ? 0u - (u32)exponent : (u32)exponent;
    u32 unit = value >= 1000u ? 1000u : value >= 100u ? 100u : value >= 10u || least > 1 ? 10u : 1u;
    __k_put(s, letter);
    __k_put(s, exponent < 0 ? '-' : '+');
    for (; unit; unit /= 10u)
        __k_put(s, (char)('0' + value / unit % 10u));
}

static void __k_put_scientific(__k_sink *s, const __k_spec *p, const __k_decimal *d, i32 fraction)
{
    i32 top = __k_decimal_digits(d) - 1, exponent = d->count ? top - d->scale : 0;
    bool has_point = fraction > 0 || p->flags & __K_ALT;
    i32 length = 1 + (has_point ? 1 : 0) + fraction + 4;
    if (exponent >= 100 || exponent <= -100)
        length++;
    if (top < 0)
        top = 0;
    __k_open(s, p, length, false);
    __k_put_digits(s, d, top, top - fraction, top, has_point);
    __k_put_exponent(s, p->flags & __K_UPPER ? 'E' : 'e', exponent, 2);
}

static void __k_put_fixed(__k_sink *s, const __k_spec *p, const __k_decimal *d, i32 fraction)
{
    i32 top = __k_decimal_digits(d) - 1;
    if (top < d->scale)
        top = d->scale;
    bool has_point = fraction > 0 || p->flags & __K_ALT;
    __k_open(s, p, (i64)(top - d->scale) + 1 + (has_point ? 1 : 0) + fraction, false);
    __k_put_digits(s, d, top, d->scale, d->scale, has_point);
    i32 shown = fraction < d->scale ? fraction : d->scale;
    __k_put_digits(s, d, d->scale - 1, d->scale - shown, 0, false);
    __k_pad(s, '0', fraction - shown);
}

static void __k_put_general(__k_sink *s, const __k_spec *p, __k_decimal *d)
{
    i32 significant = p->precision < 0 ? 6 : p->precision ? p->precision : 1;
    __k_decimal_round(d, __k_decimal_digits(d) - significant);
    i32 digits = __k_decimal_digits(d), exponent = d->count ? digits - 1 - d->scale : 0;
    bool is_fixed = exponent >= -4 && exponent < significant;
    i32 fraction = is_fixed ? significant - 1 - exponent : significant - 1;
    if (!(p->flags & __K_ALT)) { // no zeros at the end
        i32 lowest = 0;
        while (lowest < digits && !__k_decimal_digit(d, lowest))
            lowest++;
        i32 needed = !d->count ? 0 : is_fixed ? d->scale - lowest : digits - 1 - lowest;
        fraction = needed < 0 ? 0 : needed < fraction ? needed : fraction;
    }
    if (is_fixed)
        __k_put_fixed(s, p, d, fraction);
    else
        __k_put_scientific(s, p, d, fraction);
}

static void __k_put_hex_float(__k_sink *s, const __k_spec *p, u64 bits)
{
    u64 mantissa = bits & 0xfffffffffffffull;
    i32 exponent = (i32)(bits >> 52 & 0x7ffu), digits = 13;
    if (exponent)
        mantissa |= 1ull << 52;
    exponent = exponent ? exponent - 1023 : mantissa ? -1022 : 0;
    if (p->precision >= 0 && p->precision < 13) {
        u64 unit = 1ull << 4 * (13 - p->precision), rest = mantissa & (unit - 1);
        mantissa -= rest;
        if (rest > unit / 2 || (rest == unit / 2 && mantissa & unit))
            mantissa += unit;
    }
    for (; digits > 0 && !(mantissa >> 4 * (13 - digits) & 15u); digits--)
        ;
    i32 fraction = p->precision < 0 ? digits : p->precision;
    bool has_point = fraction > 0 || p->flags & __K_ALT;
    u32 size = exponent < 0 ? 0u - (u32)exponent : (u32)exponent;
    i32 exponent_digits = size >= 1000u ? 4 : size >= 100u ? 3 : size >= 10u ? 2 : 1;
    __k_open(s, p, (i64)fraction + (has_point ? 1 : 0) + 3 + exponent_digits, true);
    __k_put(s, (char)('0' + (mantissa >> 52)));
    if (has_point)
        __k_put(s, '.');
    for (i32 i = 0; i < fraction && i < 13; i++)
        __k_put(s, __k_hex_digit((u32)(mantissa >> 4 * (12 - i)) & 15u, p->flags));
    __k_pad(s, '0', fraction - 13);
    __k_put_exponent(s, p->flags & __K_UPPER ? 'P' : 'p', exponent, 1);
}

static noinline void __k_put_float(__k_sink *s, const __k_spec *spec, f64 value)
{
    __k_spec p = *spec;
    __k_decimal d;
    u64 bits = bits_f64(value), start = s->count;
    u64 mantissa = bits & 0xfffffffffffffull;
    i32 exponent = (i32)(bits >> 52 & 0x7ffu);
    p.sign = __k_sign(&p, bits >> 63);
    if (exponent == 0x7ff) {
        const char *name =
            p.flags & __K_UPPER ? (mantissa ? "NAN" : "INF") : (mantissa ? "nan" : "inf");
        p.flags &= ~(u32)__K_ZERO;
        __k_open(s, &p, 3, false);
        for (i32 i = 0; i < 3; i++)
            __k_put(s, name[i]);
    } else if (p.letter == 'a') {
        __k_put_hex_float(s, &p, bits);
    } else {
        __k_decimal_set(&d, exponent ? mantissa | 1ull << 52 : mantissa,
                        (exponent ? exponent : 1) - 1075);
        i32 fraction = p.precision < 0 ? 6 : p.precision;
        if (p.letter == 'g') {
            __k_put_general(s, &p, &d);
        } else if (p.letter == 'e') {
            __k_decimal_round(&d, __k_decimal_digits(&d) - 1 - fraction);
            __k_put_scientific(s, &p, &d, fraction);
        } else {
            __k_decimal_round(&d, d.scale - fraction);
            __k_put_fixed(s, &p, &d, fraction);
        }
    }
    __k_close(s, &p, start);
}

// Digits or an argument; what does not fit an int is an error, as the text could not be counted.
static const char *__k_read_count(const char *at, va_list *list, i32 *value, bool *is_bad)
{
    if (*at == '*') {
        *value = va_arg(*list, int);
        return at + 1;
    }
    i64 n = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        n = n > 0x7fffffffll ? n : n * 10 + (*at - '0');
    *is_bad = *is_bad || n >= 0x7fffffffll;
    *value = (i32)n;
    return at;
}

static const char *__k_read_spec(const char *at, va_list *list, __k_spec *p, bool *is_bad)
{
    *p = (__k_spec){.precision = -1, .bytes = 4};
    for (bool is_flag = true; is_flag; at += is_flag) {
        u32 flag = *at == '-'   ? __K_LEFT
                   : *at == '+' ? __K_PLUS
                   : *at == ' ' ? __K_SPACE
                   : *at == '#' ? __K_ALT
                   : *at == '0' ? __K_ZERO
                                : 0u;
        p->flags |= flag;
        is_flag = flag != 0u;
    }
    at = __k_read_count(at, list, &p->width, is_bad);
    if (p->width < 0) {
        p->flags |= __K_LEFT;
        *is_bad = *is_bad || p->width <= -0x7fffffff;
        p->width = (i32)(0u - (u32)p->width);
    }
    if (*at == '.') {
        at = __k_read_count(at + 1, list, &p->precision, is_bad);
        if (p->precision < 0)
            p->precision = -1;
    }
    if (*at == 'h') {
        p->bytes = at[1] == 'h' ? 1 : 2;
        at += at[1] == 'h' ? 2 : 1;
    } else if (*at == 'l' || *at == 'j' || *at == 'z' || *at == 't') {
        p->bytes = 8;
        at += *at == 'l' && at[1] == 'l' ? 2 : 1;
    }
    p->letter = *at;
    return *at ? at + 1 : at;
}

static void __k_put_signed(__k_sink *s, __k_spec *p, i64 value)
{
    if (p->bytes < 8) {
        u32 shift = 64u - 8u * (u32)p->bytes;
        value = (i64)((u64)value << shift) >> shift;
    }
    p->sign = __k_sign(p, value < 0);
    __k_put_integer(s, p, value < 0 ? 0u - (u64)value : (u64)value, 10u);
}

static void __k_put_string(__k_sink *s, const __k_spec *p, const char *text)
{
    i64 length = 0;
    if (!text)
        text = p->precision >= 0 && p->precision < 6 ? "" : "(null)";
    while ((p->precision < 0 || length < p->precision) && text[length])
        length++;
    __k_put_text(s, p, text, length);
}

static void __k_put_pointer(__k_sink *s, __k_spec *p, const void *pointer)
{
    if (!pointer) {
        __k_put_text(s, p, "(nil)", 5);
        return;
    }
    p->flags |= __K_ALT;
    p->sign = __k_sign(p, false);
    __k_put_integer(s, p, (u64)pointer, 16u);
}

static u64 __k_unsigned_arg(va_list *list, i32 bytes)
{
    u64 value = va_arg(*list, unsigned long);
    return bytes < 8 ? value & ((1ull << 8 * bytes) - 1u) : value;
}

// The bytes of the whole text, or -1.
static noinline i64 __k_format(__k_sink *s, const char *format, va_list list)
{
    bool is_bad = false;
    while (*format && !is_bad) {
        if (*format != '%') {
            __k_put(s, *format++);
            continue;
        }
        __k_spec p;
        format = __k_read_spec(format + 1, &list, &p, &is_bad);
        if (p.letter == 'X' || (p.letter >= 'A' && p.letter <= 'G')) {
            p.flags |= __K_UPPER;
            p.letter = (char)(p.letter + 'a' - 'A');
        }
        char letter = p.letter;
        if (letter == 'd' || letter == 'i') {
            __k_put_signed(s, &p, va_arg(list, long));
        } else if (letter == 'u' || letter == 'x' || letter == 'o') {
            u32 base = letter == 'u' ? 10u : letter == 'x' ? 16u : 8u;
            __k_put_integer(s, &p, __k_unsigned_arg(&list, p.bytes), base);
        } else if (letter == 'c') {
            char c = (char)va_arg(list, int);
            __k_put_text(s, &p, &c, 1);
        } else if (letter == 's') {
            __k_put_string(s, &p, va_arg(list, const char *));
        } else if (letter == 'p') {
            __k_put_pointer(s, &p, va_arg(list, const void *));
        } else if (letter == 'f' || letter == 'e' || letter == 'g' || letter == 'a') {
            __k_put_float(s, &p, va_arg(list, double));
        } else {
            assert(letter == '%' && "a conversion of printf that kernels know");
            __k_put(s, '%');
        }
    }
    return is_bad || s->count > 0x7fffffffull ? -1 : (i64)s->count;
}

static int vsnprintf(char *to, u64 size, const char *format, va_list list)
{
    __k_sink s = {.to = to, .room = size ? size - 1 : 0};
    i64 length = __k_format(&s, format, list);
    if (size)
        to[s.count < size ? s.count : size - 1] = 0;
    return (int)length;
}

static int vsprintf(char *to, const char *format, va_list list)
{
    return vsnprintf(to, 0x7fffffff, format, list);
}

static int snprintf(char *to, u64 size, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    return vsnprintf(to, size, format, list);
}

static int sprintf(char *to, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    return vsnprintf(to, 0x7fffffff, format, list);
}
