// The cases of tensors from indices (ops/suite.h).
#include "ops/suite.h"

#include <ctype.h>

enum { FLOATS = SUITE_FLOATS | SUITE_F64 };
enum { NUMBERS = FLOATS | 1 << KILN_I32 | 1 << KILN_U8 | 1 << KILN_I64 };
enum { EVERY = NUMBERS | 1 << KILN_BOOL };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/generate/cases.def"
};

static bool has_operand(const op_case *c)
{
    return c->option == KILN_GENERATE_TRIL || c->option == KILN_GENERATE_TRIU;
}

static bool has_index(const op_case *c)
{
    return c->option == KILN_GENERATE_ONE_HOT;
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    uint32_t count = 0;
    op_tensor one = {.name = "in",
                     .type = type,
                     .rank = c->rank,
                     .high = 5,
                     .is_integer = type < KILN_F16,
                     .has_gradient = type >= KILN_F16,
                     .tolerance = 2};
    for (uint32_t d = 0; d < c->rank; d++)
        one.sizes[d] = c->sizes[d];
    if (has_operand(c))
        out[count++] = one;
    if (has_index(c)) {
        double size = (double)c->sizes[c->rank - 1];
        out[count] = (op_tensor){.name = "in",
                                 .type = type == KILN_F32 ? KILN_I32 : KILN_I64,
                                 .rank = c->rank - 1,
                                 .low = -size - 1, // one too far at both ends
                                 .high = size + 1,
                                 .is_integer = true};
        for (uint32_t d = 0; d + 1 < c->rank; d++)
            out[count].sizes[d] = c->sizes[d];
        count++;
    }
    one.name = "out";
    one.role = ROLE_OUTPUT;
    one.has_gradient = false;
    out[count++] = one;
    return count;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    uint32_t inputs = has_operand(c) || has_index(c);
    kiln_generate_desc d = {.op = (kiln_generate_op)c->option,
                            .out = views[inputs],
                            .alpha = c->alpha,
                            .beta = c->beta,
                            .diagonal = (int64_t)c->axis - 8};
    if (inputs)
        d.in = views[0];
    if (pass == PASS_BACKWARD) { // a triangle of the gradient
        if (!views[2].buffer)
            return KILN_OK;
        d.in = views[3];
        d.out = views[2];
    }
    return kiln_generate(k, &d);
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    uint32_t inputs = has_operand(c) || has_index(c);
    size_t count = 1, columns = c->sizes[c->rank - 1];
    size_t lines = c->rank > 1 ? (size_t)c->sizes[c->rank - 2] : 1;
    for (uint32_t d = 0; d < c->rank; d++)
        count *= (size_t)c->sizes[d];
    for (size_t n = 0; n < count; n++) {
        int64_t i = (int64_t)(n / columns % lines), j = (int64_t)(n % columns);
        int64_t k = (int64_t)c->axis - 8;
        double at = inputs ? values[0][has_index(c) ? n / columns : n] : 0,
               *to = &values[inputs][n];
        switch (c->option) {
        case KILN_GENERATE_FILL: *to = c->alpha; break;
        case KILN_GENERATE_ARANGE: *to = c->alpha + c->beta * (double)n; break;
        case KILN_GENERATE_LINSPACE:
            *to = count == 1 ? c->alpha
                             : c->alpha + (c->beta - c->alpha) * (double)n / (double)(count - 1);
            break;
        case KILN_GENERATE_EYE: *to = j - i == k; break;
        case KILN_GENERATE_TRIL: *to = j - i <= k ? at : 0; break;
        case KILN_GENERATE_TRIU: *to = j - i >= k ? at : 0; break;
        default: // one_hot
            at += at < 0 ? (double)columns : 0;
            *to = at == (double)j ? c->alpha : c->beta;
            break;
        }
        if (t[inputs].type == KILN_U8)
            *to = (uint8_t)(int64_t)*to;
    }
}

static const char *const names[] = {
#define ROW(name, ...) #name,
#include "ops/generate/generate.def"
};

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "%s", names[c->option]);
}

static void print_rows(FILE *out)
{
    static const char *const rows[][3] = {
#define ROW(name, operand, indices, types, value, text) {#name, #types, text},
#include "ops/generate/generate.def"
    };
    fprintf(out, "| `KILN_GENERATE_…` | types | value |\n|---|---|---|\n");
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        fprintf(out, "| ");
        for (const char *c = rows[n][0]; *c; c++)
            fputc(toupper((unsigned char)*c), out);
        fprintf(out, " | %s | %s |\n", rows[n][1], rows[n][2]);
    }
    fprintf(out, "\n");
}

const op_suite op_suite_generate = {.name = "generate",
                                    .cases = cases,
                                    .case_count = sizeof cases / sizeof *cases,
                                    .has_backward = true,
                                    .tensors = tensors,
                                    .call = call,
                                    .reference = reference,
                                    .describe = describe,
                                    .rows = print_rows};
