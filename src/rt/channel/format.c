// The conversions of a format with C's rules. Arguments come after C's promotions: i32, i64, f64,
// pointers.
#include "rt/channel/format.h"

#include <stdio.h>
#include <stdlib.h>

// Room for so many bytes behind the text; NULL: there is no memory.
static char *room(print_out *o, size_t len)
{
    if (o->len + len > o->cap) {
        size_t cap = (o->len + len) * 2 + 128;
        char *grown = realloc(o->at, cap);
        if (!grown) {
            o->is_full = true;
            return NULL;
        }
        o->at = grown;
        o->cap = cap;
    }
    return o->at + o->len;
}

static void put(print_out *o, const char *bytes, size_t len)
{
    char *to = len ? room(o, len) : NULL;
    if (!to)
        return;
    memcpy(to, bytes, len);
    o->len += len;
}

typedef struct spec { // one conversion
    char flags[6];
    int flag_count;
    int width, precision; // -1: not given
    int shorts;           // number of h
    char conversion;
} spec;

static uint64_t next_bits(print_args *a, ir_type *type)
{
    *type = IR_I32;
    if (a->next >= a->count)
        return 0;
    *type = (ir_type)a->types[a->next];
    return a->bits[a->next++];
}

static int next_int(print_args *a)
{
    ir_type type;
    return (int)(uint32_t)next_bits(a, &type);
}

// A width or precision: digits or '*'. Capped, so that a format cannot ask for gigabytes.
static const char *read_number(const char *p, print_args *a, int *value)
{
    enum { MOST = 1 << 20 };
    long v = 0;
    if (*p == '*') {
        v = next_int(a);
        p++;
    } else {
        while (*p >= '0' && *p <= '9')
            v = v > MOST ? v : v * 10 + (*p++ - '0');
    }
    *value = (int)(v > MOST ? MOST : v < -MOST ? -MOST : v);
    return p;
}

static const char *read_spec(const char *p, print_args *a, spec *s)
{
    *s = (spec){.width = -1, .precision = -1};
    while (*p && strchr("-+ #0", *p)) {
        if (s->flag_count < 5 && !memchr(s->flags, *p, (size_t)s->flag_count))
            s->flags[s->flag_count++] = *p;
        p++;
    }
    if (*p == '*' || (*p >= '1' && *p <= '9')) {
        p = read_number(p, a, &s->width);
        if (s->width < 0) {
            s->width = -s->width;
            if (!memchr(s->flags, '-', (size_t)s->flag_count) && s->flag_count < 5)
                s->flags[s->flag_count++] = '-';
        }
    }
    if (*p == '.')
        p = read_number(p + 1, a, &s->precision);
    while (*p == 'h' || *p == 'l' || *p == 'j' || *p == 'z' || *p == 't')
        s->shorts += *p++ == 'h';
    s->conversion = *p;
    return *p ? p + 1 : p;
}

#if defined(__GNUC__)
#    pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif
// One conversion by libc's own; its length.
static int lay_out(char *to, size_t size, const spec *s, ir_type type, uint64_t bits, str word)
{
    char format[48];
    int n = snprintf(format, sizeof format, "%%%s", s->flags);
    if (s->width >= 0)
        n += snprintf(format + n, sizeof format - (size_t)n, "%d", s->width);
    if (s->precision >= 0)
        n += snprintf(format + n, sizeof format - (size_t)n, ".%d", s->precision);
    size_t left = sizeof format - (size_t)n;
    if (strchr("fFeEgGaA", s->conversion)) {
        double v;
        float narrow;
        uint32_t low = (uint32_t)bits;
        memcpy(&v, &bits, sizeof v);
        memcpy(&narrow, &low, sizeof narrow);
        snprintf(format + n, left, "%c", s->conversion);
        return snprintf(to, size, format, type == IR_F32 ? (double)narrow : v);
    }
    if (s->conversion == 'c') {
        snprintf(format + n, left, "c");
        return snprintf(to, size, format, (int)(bits & 0xff));
    }
    if (s->conversion == 'p') {
        char address[24] = "(nil)"; // as glibc writes it
        if (bits)
            snprintf(address, sizeof address, "0x%llx", (unsigned long long)bits);
        bool is_left = strchr(s->flags, '-') != NULL;
        return snprintf(to, size, is_left ? "%-*s" : "%*s", s->width > 0 ? s->width : 0, address);
    }
    if (s->conversion == 's') {
        snprintf(format + n, left, "s");
        return snprintf(to, size, format, word.at);
    }
    bool is_signed = s->conversion == 'd' || s->conversion == 'i';
    uint32_t width = s->shorts >= 2 ? 8 : s->shorts == 1 ? 16 : 8 * ir_type_size(type);
    uint64_t mask = width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    bits &= mask;
    if (is_signed && bits >> (width - 1) & 1)
        bits |= ~mask;
    snprintf(format + n, left, "ll%c", s->conversion);
    return snprintf(to, size, format, bits);
}

static void put_spec(print_out *o, print_args *a, const spec *s)
{
    ir_type type;
    uint64_t bits = next_bits(a, &type);
    str word = s->conversion == 's' && bits < a->string_count ? a->strings[bits] : STR("?");
    size_t size = 128; // nearly always enough
    for (int tries = 0; tries < 2; tries++) {
        char *to = room(o, size);
        int len = to ? lay_out(to, size, s, type, bits, word) : 0;
        if (len < 0 || !to)
            return;
        if ((size_t)len < size) {
            o->len += (size_t)len;
            return;
        }
        size = (size_t)len + 1;
    }
}

// --- the conversions that most lines have, without libc: %d %i %u %x %c, and %f with up to nine
// digits. The result is what C's printf gives.
static char *put_decimal(char *to, uint64_t v)
{
    char digits[20];
    int n = 20;
    do
        digits[--n] = (char)('0' + v % 10);
    while (v /= 10);
    memcpy(to, digits + n, (size_t)(20 - n));
    return to + (20 - n);
}

static char *put_hex(char *to, uint64_t v)
{
    int digits = 1;
    while (digits < 16 && v >> 4 * digits)
        digits++;
    for (int n = digits; n--;)
        *to++ = "0123456789abcdef"[v >> 4 * n & 15];
    return to;
}

__extension__ typedef unsigned __int128 uint128;

// NULL: this is for libc. The value is m * 2^e; its fraction times 10^precision is computed exactly
// and rounded to even.
static char *put_fixed(char *to, double v, int precision)
{
    static const uint32_t powers[] = {1,      10,      100,      1000,      10000,
                                      100000, 1000000, 10000000, 100000000, 1000000000};
    uint64_t bits, whole = 0, fraction = 0, part;
    memcpy(&bits, &v, sizeof bits);
    int e = (int)(bits >> 52 & 2047);
    if (precision < 0 || precision > 9 || e == 2047 || e > 1023 + 62)
        return NULL;
    uint64_t m = (bits & ((UINT64_C(1) << 52) - 1)) | (e ? UINT64_C(1) << 52 : 0);
    int shift = 1075 - (e ? e : 1); // v = m / 2^shift
    if (bits >> 63)
        *to++ = '-';
    if (shift <= 0) {
        whole = m << -shift;
    } else {
        whole = shift < 64 ? m >> shift : 0;
        part = shift < 64 ? m & ((UINT64_C(1) << shift) - 1) : m;
        uint128 scaled = (uint128)part * powers[precision];
        if (shift < 128) {
            uint128 one = 1, rest = scaled & ((one << shift) - 1), half = one << (shift - 1);
            fraction = (uint64_t)(scaled >> shift);
            bool is_odd = ((precision ? fraction : whole) & 1) != 0;
            fraction += rest > half || (rest == half && is_odd);
        }
        if (fraction >= powers[precision]) {
            fraction -= powers[precision];
            whole++;
        }
    }
    to = put_decimal(to, whole);
    if (!precision)
        return to;
    *to = '.';
    for (int n = precision; n; n--, fraction /= 10)
        to[n] = (char)('0' + fraction % 10);
    return to + 1 + precision;
}

// A conversion without flags and width; where the format goes on, or NULL: it is another one.
static const char *put_fast(print_out *o, const char *p, print_args *a)
{
    int precision = 6;
    bool has_precision = *p == '.';
    if (has_precision) {
        if (p[1] < '0' || p[1] > '9')
            return NULL;
        precision = p[1] - '0';
        p += 2;
    }
    while (*p == 'l' || *p == 'z')
        p++;
    if (a->next >= a->count)
        return NULL;
    ir_type type = (ir_type)a->types[a->next];
    uint64_t bits = a->bits[a->next];
    char *start = room(o, 64), *end = NULL;
    if (!start)
        return NULL;
    uint32_t size = ir_type_size(type);
    double value;
    switch (*p) {
    case 'd':
    case 'i':
    case 'u':
    case 'x': {
        if (has_precision || (size != 4 && size != 8))
            return NULL;
        uint64_t v = size == 4 ? (uint32_t)bits : bits;
        bool is_negative = (*p == 'd' || *p == 'i') && v >> (8 * size - 1);
        if (is_negative) {
            *start = '-';
            v = size == 4 ? (uint32_t)(0 - v) : 0 - v;
        }
        end = *p == 'x' ? put_hex(start, v) : put_decimal(start + is_negative, v);
        break;
    }
    case 'c':
        if (has_precision)
            return NULL;
        *start = (char)bits;
        end = start + 1;
        break;
    case 'f':
        if (type != IR_F64)
            return NULL;
        memcpy(&value, &bits, sizeof value);
        end = put_fixed(start, value, precision);
        break;
    default: break;
    }
    if (!end)
        return NULL;
    a->next++;
    o->len = (size_t)(end - o->at);
    return p + 1;
}

void print_format(print_out *o, str format, print_args *a)
{
    const char *p = format.at, *end = p + strnlen(p, format.len); // as C, to the first zero
    while (p < end) {
        const char *percent = memchr(p, '%', (size_t)(end - p));
        if (!percent)
            percent = end;
        put(o, p, (size_t)(percent - p));
        if (percent == end)
            break;
        p = percent + 1;
        if (*p == '%') {
            put(o, "%", 1);
            p++;
            continue;
        }
        const char *after = put_fast(o, p, a);
        if (after) {
            p = after;
            continue;
        }
        spec s;
        p = read_spec(p, a, &s);
        if (s.conversion && strchr("diuxXocfFeEgGaAps", s.conversion))
            put_spec(o, a, &s);
    }
}

void print_free(print_out *o)
{
    free(o->at);
    *o = (print_out){0};
}
