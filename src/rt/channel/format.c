// The conversions of a format with C's rules. Arguments come after C's promotions: i32, i64, f64,
// pointers.
#include "rt/channel/format.h"

#include <stdio.h>
#include <stdlib.h>

static void put(print_out *o, const char *bytes, size_t len)
{
    if (!len)
        return;
    if (o->len + len > o->cap) {
        size_t cap = (o->len + len) * 2 + 128;
        char *grown = realloc(o->at, cap);
        if (!grown) {
            o->is_full = true;
            return;
        }
        o->at = grown;
        o->cap = cap;
    }
    memcpy(o->at + o->len, bytes, len);
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
    long v = 0;
    if (*p == '*') {
        v = next_int(a);
        p++;
    } else {
        while (*p >= '0' && *p <= '9')
            v = v > 100000 ? v : v * 10 + (*p++ - '0');
    }
    *value = (int)(v > 4095 ? 4095 : v < -4095 ? -4095 : v);
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
static void put_spec(print_out *o, print_args *a, const spec *s)
{
    char format[48], buffer[8300];
    int n = snprintf(format, sizeof format, "%%%s", s->flags);
    if (s->width >= 0)
        n += snprintf(format + n, sizeof format - (size_t)n, "%d", s->width);
    if (s->precision >= 0)
        n += snprintf(format + n, sizeof format - (size_t)n, ".%d", s->precision);
    size_t left = sizeof format - (size_t)n;
    ir_type type;
    uint64_t bits = next_bits(a, &type);
    int len;
    if (strchr("fFeEgGaA", s->conversion)) {
        double v;
        float narrow;
        uint32_t low = (uint32_t)bits;
        memcpy(&v, &bits, sizeof v);
        memcpy(&narrow, &low, sizeof narrow);
        snprintf(format + n, left, "%c", s->conversion);
        len = snprintf(buffer, sizeof buffer, format, type == IR_F32 ? (double)narrow : v);
    } else if (s->conversion == 'c') {
        snprintf(format + n, left, "c");
        len = snprintf(buffer, sizeof buffer, format, (int)(bits & 0xff));
    } else if (s->conversion == 'p') {
        snprintf(format + n, left, "#llx");
        len = snprintf(buffer, sizeof buffer, "0x%llx", (unsigned long long)bits);
    } else if (s->conversion == 's') {
        str word = bits < a->string_count ? a->strings[bits] : STR("?");
        snprintf(format + n, left, "s");
        len = snprintf(buffer, sizeof buffer, format, word.at);
    } else {
        bool is_signed = s->conversion == 'd' || s->conversion == 'i';
        uint32_t width = s->shorts >= 2 ? 8 : s->shorts == 1 ? 16 : 8 * ir_type_size(type);
        uint64_t mask = width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
        bits &= mask;
        if (is_signed && bits >> (width - 1) & 1)
            bits |= ~mask;
        snprintf(format + n, left, "ll%c", s->conversion);
        len = snprintf(buffer, sizeof buffer, format, bits);
    }
    if (len > 0)
        put(o, buffer, (size_t)len < sizeof buffer ? (size_t)len : sizeof buffer - 1);
}

void print_format(print_out *o, str format, print_args *a)
{
    const char *p = format.at, *end = p + format.len;
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
