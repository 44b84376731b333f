// The cases of quantised numbers (ops/suite.h). Scales are powers of two: quotients are exact.
#include "ops/suite.h"

#include <math.h>

enum { BACK = 1, UNSIGNED = 2, ZERO = 4, ROWS = 8 };
enum { X, SCALE, POINT, OUT, TENSORS };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/quantise/cases.def"
};

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    bool is_back = c->option & BACK, is_unsigned = c->option & UNSIGNED;
    kiln_type narrow = is_unsigned ? KILN_U8 : KILN_I8;
    out[X] = (op_tensor){.name = "x",
                         .type = is_back ? narrow : type,
                         .rank = 2,
                         .sizes = {c->sizes[0], c->sizes[1]},
                         .low = is_back ? (is_unsigned ? 0 : -128) : -100,
                         .high = is_back ? (is_unsigned ? 255 : 127) : 100,
                         .is_integer = is_back,
                         .tolerance = 2};
    out[OUT] = out[X];
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[OUT].type = is_back ? type : narrow;
    out[SCALE] = (op_tensor){.name = "scale",
                             .type = KILN_F32,
                             .rank = 2,
                             .sizes = {c->option & ROWS ? c->sizes[0] : 1, 1},
                             .low = 0.5,
                             .high = 0.5};
    out[POINT] = (op_tensor){.name = "zero",
                             .type = narrow,
                             .rank = 2,
                             .sizes = {1, 1},
                             .low = is_unsigned ? 100 : -10,
                             .high = is_unsigned ? 140 : 20,
                             .is_integer = true};
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_quantise_desc d = {.x = views[X], .scale = views[SCALE], .out = views[OUT]};
    (void)pass;
    if (c->option & ZERO)
        d.zero = views[POINT];
    return c->option & BACK ? kiln_dequantise(k, &d) : kiln_quantise(k, &d);
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    double low = c->option & UNSIGNED ? 0 : -128, high = c->option & UNSIGNED ? 255 : 127;
    (void)t;
    for (size_t i = 0; i < c->sizes[0] * c->sizes[1]; i++) {
        double scale = values[SCALE][c->option & ROWS ? i / c->sizes[1] : 0];
        double zero = c->option & ZERO ? values[POINT][0] : 0, x = values[X][i];
        values[OUT][i] = c->option & BACK ? (x - zero) * scale
                                          : fmin(fmax(nearbyint(x / scale) + zero, low), high);
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "%s %s%s%s", c->option & BACK ? "from" : "to",
             c->option & UNSIGNED ? "u8" : "i8", c->option & ZERO ? " zero" : "",
             c->option & ROWS ? " rows" : "");
}

const op_suite op_suite_quantise = {.name = "quantise",
                                    .cases = cases,
                                    .case_count = sizeof cases / sizeof *cases,
                                    .tensors = tensors,
                                    .call = call,
                                    .reference = reference,
                                    .describe = describe};
