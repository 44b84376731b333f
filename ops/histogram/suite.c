// The cases of the histogram (ops/suite.h). Tensors: x, out.
#include "ops/suite.h"

#include <math.h>

enum { X, OUT, TENSORS };
enum { INTEGERS = 1 << KILN_I8 | 1 << KILN_U8 | 1 << KILN_I32 | 1 << KILN_I64 | 1 << KILN_BOOL };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/histogram/cases.def"
};

// Elements are multiples of 1/8 and bins powers of two times those or tenths far from them: a bin
// does not depend on a rounding.
static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    bool is_float = type == KILN_F32 || type == KILN_F16 || type == KILN_BF16 || type == KILN_F64;
    out[X] = (op_tensor){.name = "x",
                         .type = type,
                         .rank = c->rank,
                         .low = type == KILN_U8 || type == KILN_BOOL ? 0 : -5,
                         .high = type == KILN_BOOL ? 2 : 6,
                         .is_integer = !is_float || c->option % 8 == 0};
    for (uint32_t n = 0; n < c->rank; n++)
        out[X].sizes[n] = c->sizes[n];
    out[OUT] = (op_tensor){.name = "out",
                           .role = ROLE_OUTPUT,
                           .type = c->axis ? (kiln_type)c->axis : KILN_I64,
                           .rank = 1,
                           .sizes = {c->option}};
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    (void)pass;
    return kiln_histogram(
        k,
        &(kiln_histogram_desc){.x = views[X], .out = views[OUT], .low = c->alpha, .high = c->beta});
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t count = 1;
    bool is_single = t[X].type == KILN_F32 || t[X].type == KILN_F16 || t[X].type == KILN_BF16;
    double bins = c->option, scale = bins / (c->beta - c->alpha);
    for (uint32_t n = 0; n < c->rank; n++)
        count *= c->sizes[n];
    for (uint32_t n = 0; n < c->option; n++)
        values[OUT][n] = 0;
    for (size_t i = 0; i < count; i++) {
        double x = values[X][i], bin = x;
        if (c->beta > c->alpha) {
            bin = floor(is_single
                            ? (double)(float)((double)(float)(x - c->alpha) * (double)(float)scale)
                            : (x - c->alpha) * scale);
            bin = x >= c->alpha && x <= c->beta ? fmin(bin, bins - 1) : -1;
        }
        if (bin >= 0 && bin < bins)
            values[OUT][(size_t)bin]++;
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    int len = snprintf(out, size, "%u bins", c->option);
    if (c->beta > c->alpha)
        snprintf(out + len, size - (size_t)len, " %g to %g", c->alpha, c->beta);
}

static int more(kiln *k, int *passed)
{
    const float x[8] = {0, 1, NAN, -0.5f, 0.5f, 2, INFINITY, 0.25f};
    int32_t counts[2] = {7, 7};
    kiln_buffer *b = NULL, *out = NULL;
    bool is_right = !kiln_buffer_new(k, KILN_F32, 8, &b) && !kiln_write(b, 0, x, 8) &&
                    !kiln_buffer_new(k, KILN_I32, 2, &out);
    kiln_histogram_desc d = {.x = KILN_VIEW(b, 8), .out = KILN_VIEW(out, 2), .low = 0, .high = 1};
    is_right = is_right && !kiln_histogram(k, &d) && !kiln_read(out, 0, counts, 2) &&
               counts[0] == 2 && counts[1] == 2;
    d.high = 0; // floats without a range
    is_right = is_right && kiln_histogram(k, &d) == KILN_E_BAD_ARGUMENT;
    d.high = -1;
    is_right = is_right && kiln_histogram(k, &d) == KILN_E_BAD_ARGUMENT;
    d.high = 1;
    d.out = KILN_VIEW(b, 2); // floats are no counts
    is_right = is_right && kiln_histogram(k, &d) == KILN_E_BAD_ARGUMENT;
    if (!is_right)
        printf("histogram: %d %d, or a wrong call is not refused\n", counts[0], counts[1]);
    kiln_buffer_free(b);
    kiln_buffer_free(out);
    *passed += is_right;
    return !is_right;
}

const op_suite op_suite_histogram = {.name = "histogram",
                                     .cases = cases,
                                     .case_count = sizeof cases / sizeof *cases,
                                     .tensors = tensors,
                                     .call = call,
                                     .reference = reference,
                                     .describe = describe,
                                     .more = more};
