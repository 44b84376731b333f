// The scanf family, once for every kind of source: who includes this file defines
//     __K_SCAN(name)   the name of a function or type for this kind
//     __K_SOURCE       the type of a source
// and has two functions: i32 __K_SCAN(peek)(__K_SOURCE *), the next byte or -1, and
// void __K_SCAN(skip)(__K_SOURCE *), which goes past it. A source counts its bytes in `count`.
// Where C leaves it open, what is read and what is left is glibc's. Start at __K_SCAN(scan).

#ifndef __K_SCAN_COMMON
#    define __K_SCAN_COMMON
#    include "number.h"
#    include <stdarg.h>

enum { __K_ITEM = 1200 }; // characters of a float; the others are read and do not count

typedef struct __k_directive {
    i32 width; // the most characters; below 0: any number
    i32 bytes; // of the object
    bool is_quiet;
    char letter;
} __k_directive;

static bool __k_is_space(i32 c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static const char *__k_read_directive(const char *at, __k_directive *d)
{
    *d = (__k_directive){.width = -1, .bytes = 4};
    if (*at == '*') {
        d->is_quiet = true;
        at++;
    }
    if (*at >= '0' && *at <= '9') {
        i64 width = 0;
        for (; *at >= '0' && *at <= '9'; at++)
            width = width > 0x7fffffff ? width : width * 10 + (*at - '0');
        d->width = width == 0 || width > 0x7fffffff ? -1 : (i32)width;
    }
    if (*at == 'h') {
        d->bytes = at[1] == 'h' ? 1 : 2;
        at += at[1] == 'h' ? 2 : 1;
    } else if (*at == 'l' || *at == 'j' || *at == 'z' || *at == 't') {
        d->bytes = 8;
        at += *at == 'l' && at[1] == 'l' ? 2 : 1;
    }
    d->letter = *at;
    return *at ? at + 1 : at;
}

static void __k_store(void *to, u64 value, i32 bytes)
{
    if (bytes == 1)
        *(u8 *)to = (u8)value;
    else if (bytes == 2)
        *(u16 *)to = (u16)value;
    else if (bytes == 4)
        *(u32 *)to = (u32)value;
    else
        *(u64 *)to = value;
}

// Is c one of the characters of "a-z^]…" between `set` and its bracket at `end`? The end of a range
// may begin another one: "a-c-e".
static bool __k_in_set(const char *set, const char *end, i32 c)
{
    for (const char *at = set; at < end; at++) {
        bool is_range = *at == '-' && at > set && at + 1 < end && (u8)at[-1] <= (u8)at[1];
        if (is_range ? c >= (u8)at[-1] && c < (u8)at[1] : c == (u8)*at)
            return true;
    }
    return false;
}

// A number that strtol or strtoul would saturate.
static u64 __k_saturated(u64 value, bool is_negative, bool is_over, bool is_signed)
{
    u64 most = !is_signed ? 0xffffffffffffffffull : 0x7fffffffffffffffull + (is_negative ? 1u : 0u);
    if (is_over || value > most) {
        errno = ERANGE;
        return is_signed && is_negative ? 0u - most : most;
    }
    return is_negative ? 0u - value : value;
}
#endif

// False: no number; the byte that spoils it is not read.
static noinline bool __K_SCAN(integer)(__K_SOURCE *s, const __k_directive *d, u64 *out)
{
    i32 width = d->width, c = __K_SCAN(peek)(s);
    bool is_hex = d->letter == 'x' || d->letter == 'p';
    u64 base = d->letter == 'i' ? 0u : d->letter == 'o' ? 8u : is_hex ? 16u : 10u;
    u64 value = 0;
    bool is_negative = c == '-', is_over = false, has_digit = false;
    if (c == '-' || c == '+') {
        __K_SCAN(skip)(s);
        width--;
    }
    if (width != 0 && __K_SCAN(peek)(s) == '0') {
        __K_SCAN(skip)(s);
        width--;
        has_digit = true;
        c = width ? __K_SCAN(peek)(s) : -1;
        if ((c == 'x' || c == 'X') && (base == 0u || base == 16u)) {
            __K_SCAN(skip)(s);
            width--;
            base = 16;
        } else if (base == 0u) {
            base = 8;
        }
    }
    if (base == 0u)
        base = 10;
    for (; width != 0; width--) {
        c = __K_SCAN(peek)(s);
        i32 digit = c < 0 ? -1 : __k_hex_value((char)c);
        if (digit < 0 || (u64)digit >= base)
            break;
        is_over = is_over || value > (0xffffffffffffffffull - (u64)digit) / base;
        value = value * base + (u64)digit;
        has_digit = true;
        __K_SCAN(skip)(s);
    }
    *out = __k_saturated(value, is_negative, is_over, d->letter == 'd' || d->letter == 'i');
    return has_digit;
}

// Reads `word`, in any case, into the item; false: something else stands there.
static bool __K_SCAN(word)(__K_SOURCE *s, const char *word, char *item, i32 *length, i32 *width)
{
    for (i32 i = 0; word[i]; i++) {
        i32 c = *width ? __K_SCAN(peek)(s) : -1;
        if (c < 0 || __k_lower((char)c) != word[i])
            return false;
        __K_SCAN(skip)(s);
        item[(*length)++] = word[i];
        *width -= 1;
    }
    return true;
}

// The characters that may belong to a float, in `item`; false: they are none.
static noinline bool __K_SCAN(item)(__K_SOURCE *s, i32 width, char *item)
{
    i32 length = 0, c = __K_SCAN(peek)(s), signs = 0, prefix = 0;
    bool has_digit = false, has_point = false, has_exponent = false;
    char letter = 'e', before = 0;
    if (c == '-' || c == '+') {
        item[length++] = (char)c;
        __K_SCAN(skip)(s);
        width--;
        signs = 1;
        c = width ? __K_SCAN(peek)(s) : -1;
        if (c < 0)
            return false;
    }
    if (__k_lower((char)c) == 'n' || __k_lower((char)c) == 'i') {
        bool is_nan = __k_lower((char)c) == 'n';
        if (!__K_SCAN(word)(s, is_nan ? "nan" : "inf", item, &length, &width))
            return false;
        c = width && !is_nan ? __K_SCAN(peek)(s) : -1;
        if (c >= 0 && __k_lower((char)c) == 'i' &&
            !__K_SCAN(word)(s, "inity", item, &length, &width))
            return false;
        item[length] = 0;
        return true;
    }
    if (width && c == '0') {
        item[length++] = '0';
        __K_SCAN(skip)(s);
        width--;
        has_digit = true;
        c = width != 0 && width != 1 ? __K_SCAN(peek)(s) : -1; // with room for a digit
        if (c >= 0 && __k_lower((char)c) == 'x') {
            item[length++] = 'x';
            __K_SCAN(skip)(s);
            width--;
            has_digit = false;
            letter = 'p';
            prefix = 2;
        }
    }
    for (; width != 0; width--) {
        c = __K_SCAN(peek)(s);
        if (c < 0)
            break;
        char low = __k_lower((char)c);
        if ((c >= '0' && c <= '9') || (!has_exponent && prefix && __k_hex_value((char)c) >= 0))
            has_digit = true;
        else if (has_digit && !has_exponent && low == letter)
            has_exponent = has_point = true;
        else if (c == '.' && !has_point)
            has_point = true;
        else if (!(has_exponent && before == letter && (c == '-' || c == '+')))
            break;
        __K_SCAN(skip)(s);
        before = low;
        if (length < __K_ITEM - 1)
            item[length++] = low;
    }
    item[length] = 0;
    return length != signs && !(prefix && length == prefix + signs);
}

static noinline bool __K_SCAN(real)(__K_SOURCE *s, const __k_directive *d, void *to)
{
    char item[__K_ITEM];
    if (!__K_SCAN(item)(s, d->width, item))
        return false;
    const __k_shape wide = {53, -1074, 971}, narrow = {24, -149, 104};
    __k_shape shape = d->bytes == 8 ? wide : narrow;
    const char *end;
    bool is_negative;
    u64 bits = __k_read_float(item, &end, &shape, &is_negative);
    if (end == item)
        return false;
    if (is_negative)
        bits |= 1ull << (d->bytes == 8 ? 63 : 31);
    if (to)
        __k_store(to, bits, d->bytes);
    return true;
}

// %s, %c and %[…]: false when no character fits.
static noinline bool __K_SCAN(text)(__K_SOURCE *s, const __k_directive *d, const char *set,
                                    const char *end, char *to)
{
    bool is_not = d->letter == '[' && *set == '^';
    i32 width = d->letter == 'c' && d->width < 0 ? 1 : d->width;
    i64 length = 0;
    for (; width != 0; width--) {
        i32 c = __K_SCAN(peek)(s);
        if (c < 0 || (d->letter == 's' && __k_is_space(c)) ||
            (d->letter == '[' && __k_in_set(is_not ? set + 1 : set, end, c) == is_not))
            break;
        __K_SCAN(skip)(s);
        if (to)
            to[length] = (char)c;
        length++;
    }
    if (to && d->letter != 'c' && length)
        to[length] = 0;
    return length > 0;
}

static void __K_SCAN(skip_space)(__K_SOURCE *s)
{
    while (__k_is_space(__K_SCAN(peek)(s)))
        __K_SCAN(skip)(s);
}

static noinline int __K_SCAN(scan)(__K_SOURCE *s, const char *format, va_list list)
{
    i32 done = 0;
    while (*format) {
        i32 c = (u8)*format++;
        if (__k_is_space(c)) {
            __K_SCAN(skip_space)(s);
            continue;
        }
        if (c != '%') {
            i32 found = __K_SCAN(peek)(s);
            if (found != c)
                return found < 0 && !done ? -1 : done;
            __K_SCAN(skip)(s);
            continue;
        }
        __k_directive d;
        format = __k_read_directive(format, &d);
        const char *set = format;
        if (d.letter == '[') {
            if (*format == '^')
                format++;
            if (*format == ']')
                format++;
            while (*format && *format != ']')
                format++;
        }
        const char *end = format;
        if (d.letter == '[' && *format)
            format++;
        if (d.letter == 'n') {
            if (!d.is_quiet)
                __k_store(va_arg(list, void *), (u64)s->count, d.bytes);
            continue;
        }
        if (d.letter != 'c' && d.letter != '[')
            __K_SCAN(skip_space)(s);
        c = __K_SCAN(peek)(s);
        if (c < 0)
            return done ? done : -1;
        if (d.letter == '%') {
            if (c != '%')
                return done;
            __K_SCAN(skip)(s);
            continue;
        }
        if (d.letter == 'X')
            d.letter = 'x';
        if (d.letter == 'p')
            d.bytes = 8;
        void *to = d.is_quiet ? NULL : va_arg(list, void *);
        bool is_fine;
        if (d.letter == 's' || d.letter == 'c' || d.letter == '[') {
            is_fine = __K_SCAN(text)(s, &d, set, end, (char *)to);
        } else if (d.letter == 'p' && c == '(') {
            char item[8];
            i32 length = 0, width = d.width < 0 || d.width >= 5 ? 5 : 0;
            is_fine = __K_SCAN(word)(s, "(nil)", item, &length, &width);
            if (is_fine && to)
                __k_store(to, 0, 8);
        } else if (d.letter == 'd' || d.letter == 'i' || d.letter == 'u' || d.letter == 'o' ||
                   d.letter == 'x' || d.letter == 'p') {
            u64 value;
            is_fine = __K_SCAN(integer)(s, &d, &value);
            if (is_fine && to)
                __k_store(to, value, d.bytes);
        } else {
            char low = __k_lower(d.letter);
            assert((low == 'f' || low == 'e' || low == 'g' || low == 'a') &&
                   "a conversion of scanf that kernels know");
            is_fine = __K_SCAN(real)(s, &d, to);
        }
        if (!is_fine)
            return done;
        done += d.is_quiet ? 0 : 1;
    }
    return done;
}
