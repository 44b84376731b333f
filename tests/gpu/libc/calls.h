// Calls of C's library that a kernel and the host make with the same arguments: the test compares
// what they give. Each function has one call, because the cpu device inlines it.
#ifndef KILN_TEST_LIBC_CALLS_H
#define KILN_TEST_LIBC_CALLS_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRINT_BYTES = 704, PRINT_FORMAT = 120, PRINT_TEXT = 16 };

typedef struct print_case {
    char format[PRINT_FORMAT], text[PRINT_TEXT];
    uint32_t room; // at most PRINT_BYTES
    int32_t width, precision, small;
    int64_t large;
    uint64_t real, more; // doubles, as bits
} print_case;

typedef struct print_result {
    int32_t result;
    char text[PRINT_BYTES];
} print_result;

static inline double call_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// An int with width and precision, a long, a double, a text, a character.
static inline void print_mixed(const print_case *c, print_result *out)
{
    out->result = snprintf(out->text, c->room, c->format, c->width, c->precision, c->small,
                           (long)c->large, call_double(c->real), c->text, c->small & 127);
}

// Two doubles, a text and a pointer; width and precision come as arguments.
static inline void print_stars(const print_case *c, print_result *out)
{
    out->result = snprintf(out->text, c->room, c->format, c->width, call_double(c->real),
                           c->width / 2, c->precision, call_double(c->more), c->precision, c->text,
                           (void *)(uintptr_t)(uint64_t)c->large);
}

enum { READ_BYTES = 1024 };

typedef struct read_case {
    char text[READ_BYTES];
    int32_t base;
} read_case;

typedef struct read_result {
    uint64_t real, whole, natural; // the double as bits
    uint32_t small;                // the float as bits
    int32_t ends[4], errors[4];
} read_result;

static inline uint64_t call_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline void read_floats(const read_case *c, read_result *out)
{
    char *end = NULL;
    errno = 0;
    out->real = call_bits(strtod(c->text, &end));
    out->ends[0] = (int32_t)(end - c->text);
    out->errors[0] = errno;
    errno = 0;
    float small = strtof(c->text, &end);
    memcpy(&out->small, &small, sizeof small);
    out->ends[1] = (int32_t)(end - c->text);
    out->errors[1] = errno;
}

static inline void read_integers(const read_case *c, read_result *out)
{
    char *end = (char *)(uintptr_t)c->text; // what a wrong base does to it is open
    errno = 0;
    out->whole = (uint64_t)strtol(c->text, &end, c->base);
    out->ends[2] = errno == EINVAL ? 0 : (int32_t)(end - c->text);
    out->errors[2] = errno;
    errno = 0;
    out->natural = strtoul(c->text, &end, c->base);
    out->ends[3] = errno == EINVAL ? 0 : (int32_t)(end - c->text);
    out->errors[3] = errno;
}

enum { SCAN_BYTES = 96, SCAN_FORMAT = 64 };

typedef struct scan_case {
    char text[SCAN_BYTES], format[SCAN_FORMAT];
    uint32_t kind;
} scan_case;

typedef struct scan_result {
    int32_t result;
    int32_t small, after;
    int64_t large;
    double real;
    float narrow;
    char word[SCAN_BYTES], other[SCAN_BYTES];
} scan_result;

// A float, an int, a text, how far it came.
static inline void scan_mixed(const scan_case *c, scan_result *out)
{
    out->result = sscanf(c->text, c->format, &out->narrow, &out->small, out->word, &out->after);
    if (out->narrow != out->narrow)
        out->narrow = 1;
}

// A long, a text, a double, a text.
static inline void scan_wide(const scan_case *c, scan_result *out)
{
    out->result = sscanf(c->text, c->format, &out->large, out->word, &out->real, out->other);
    if (out->real != out->real)
        out->real = 1;
}

#endif
