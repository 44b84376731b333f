// The cases of dropout (ops/suite.h).
#include "ops/suite.h"
#include "ops/random/suite_philox.h"

enum { X, OUT, TENSORS, FLOATS = SUITE_FLOATS | SUITE_F64, SEED = 99, OFFSET = 3 };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/dropout/cases.def"
};

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    out[X] = (op_tensor){.name = "x",
                         .type = type,
                         .rank = c->rank,
                         .low = -3,
                         .high = 3,
                         .has_gradient = true,
                         .tolerance = 4};
    for (uint32_t d = 0; d < c->rank; d++)
        out[X].sizes[d] = c->sizes[d];
    out[OUT] = out[X];
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[OUT].has_gradient = false;
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_dropout_desc d = {.x = views[pass == PASS_FORWARD ? X : TENSORS + OUT],
                           .out = views[pass == PASS_FORWARD ? OUT : TENSORS + X],
                           .rate = c->alpha,
                           .seed = SEED,
                           .offset = OFFSET};
    return pass == PASS_FORWARD ? kiln_dropout_forward(k, &d) : kiln_dropout_backward(k, &d);
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t count = 1;
    for (uint32_t d = 0; d < c->rank; d++)
        count *= (size_t)c->sizes[d];
    for (size_t i = 0; i < count; i++) {
        bool stays =
            t->type == KILN_F64
                ? (double)(suite_words(i, OFFSET, SEED) >> 11) * 0x1p-53 < 1 - c->alpha
                : (suite_word(i, OFFSET, SEED) >> 8) * 0x1p-24 < (double)(float)(1 - c->alpha);
        values[OUT][i] = stays ? values[X][i] / (1 - c->alpha) : 0;
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "rate %g", c->alpha);
}

const op_suite op_suite_dropout = {.name = "dropout",
                                   .cases = cases,
                                   .case_count = sizeof cases / sizeof *cases,
                                   .has_backward = true,
                                   .tensors = tensors,
                                   .call = call,
                                   .reference = reference,
                                   .describe = describe};
