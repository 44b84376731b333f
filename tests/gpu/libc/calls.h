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

#endif
