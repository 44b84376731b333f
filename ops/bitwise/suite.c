// The cases of the bitwise ops (ops/suite.h), with counts of shifts that are too large and
// negative.
#include "ops/suite.h"

#include <ctype.h>

enum {
#define ROW(name, ...) ROW_##name,
#include "ops/bitwise/bitwise.def"
};
enum {
    TYPES_INTEGERS = 1 << KILN_I8 | 1 << KILN_U8 | 1 << KILN_I16 | 1 << KILN_U16 | 1 << KILN_I32 |
                     1 << KILN_U32 | 1 << KILN_I64,
    TYPES_ALL = TYPES_INTEGERS | 1 << KILN_BOOL
};

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/bitwise/cases.def"
};

static const struct row {
    const char *name, *types, *text;
    uint32_t operands;
} rows[] = {
#define ROW(name, operands, types, value, text) {#name, #types, text, operands},
#include "ops/bitwise/bitwise.def"
};

static bool is_signed(kiln_type type)
{
    return type == KILN_I8 || type == KILN_I16 || type == KILN_I32 || type == KILN_I64;
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    bool is_shift = c->option >= ROW_shift_left;
    uint32_t count = rows[c->option].operands;
    double most = type == KILN_BOOL ? 2 : 120;
    for (uint32_t n = 0; n <= count; n++) {
        out[n] = (op_tensor){.name = n == 0       ? "a"
                                     : n == count ? "out"
                                                  : "b",
                             .role = n == count ? ROLE_OUTPUT : ROLE_INPUT,
                             .type = type,
                             .rank = c->rank,
                             .low = is_signed(type) ? -most : 0,
                             .high = most,
                             .is_integer = true};
        for (uint32_t d = 0; d < c->rank; d++)
            out[n].sizes[d] =
                d == 0 && n == 1 && n < count && c->tags & SUITE_BROADCAST ? 1 : c->sizes[d];
        if (n == 1 && is_shift) {
            out[n].low = is_signed(type) ? -2 : 0;
            out[n].high = 10;
        }
    }
    return count + 1;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    uint32_t count = rows[c->option].operands;
    kiln_bitwise_desc d = {.op = (kiln_bitwise_op)c->option, .a = views[0], .out = views[count]};
    (void)pass;
    if (count > 1)
        d.b = views[1];
    return kiln_bitwise(k, &d);
}

// `x` as a number of the type: its low bits.
static double wrapped(kiln_type type, int64_t x)
{
    int bits = 8 * (int)kiln_type_size(type);
    if (bits == 64)
        return (double)x;
    uint64_t low = (uint64_t)x & (((uint64_t)1 << bits) - 1);
    bool is_negative = is_signed(type) && low >> (bits - 1);
    return (double)low - (is_negative ? (double)((uint64_t)1 << bits) : 0);
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    uint32_t count = rows[c->option].operands;
    size_t total = 1, columns = c->rank > 1 ? (size_t)c->sizes[1] : 1;
    int bits = 8 * (int)kiln_type_size(t->type);
    for (uint32_t d = 0; d < c->rank; d++)
        total *= (size_t)c->sizes[d];
    for (size_t i = 0; i < total; i++) {
        size_t j = c->tags & SUITE_BROADCAST ? i % columns : i;
        int64_t a = (int64_t)values[0][i], b = count > 1 ? (int64_t)values[1][j] : 0, r = 0;
        switch (c->option) {
        case ROW_and: r = a & b; break;
        case ROW_or: r = a | b; break;
        case ROW_xor: r = a ^ b; break;
        case ROW_not: r = ~a; break;
        case ROW_shift_left: r = b < 0 || b >= bits ? 0 : (int64_t)((uint64_t)a << b); break;
        default: r = b < 0 || b >= bits ? (a < 0 ? -1 : 0) : a >> b; break;
        }
        values[count][i] = wrapped(t->type, r);
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "%s%s", rows[c->option].name,
             c->tags & SUITE_BROADCAST ? " broadcast" : "");
}

static void print_rows(FILE *out)
{
    fprintf(out, "| `KILN_BITWISE_…` | types | value |\n|---|---|---|\n");
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        fprintf(out, "| ");
        for (const char *c = rows[n].name; *c; c++)
            fputc(toupper((unsigned char)*c), out);
        fprintf(out, " | %s | %s |\n", rows[n].types, rows[n].text);
    }
    fprintf(out, "\n");
}

const op_suite op_suite_bitwise = {.name = "bitwise",
                                   .cases = cases,
                                   .case_count = sizeof cases / sizeof *cases,
                                   .tensors = tensors,
                                   .call = call,
                                   .reference = reference,
                                   .describe = describe,
                                   .rows = print_rows};
