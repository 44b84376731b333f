// The cases of twice (ops/suite.h).
#include "ops/suite.h"
#include "kiln/ops_twice.h"

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/twice/cases.def"
};

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    out[0] = (op_tensor){.name = "x",
                         .type = type,
                         .rank = c->rank,
                         .low = -1,
                         .high = 1,
                         .has_gradient = true,
                         .tolerance = 1};
    for (uint32_t n = 0; n < c->rank; n++)
        out[0].sizes[n] = c->sizes[n];
    out[1] = out[0];
    out[1].name = "out";
    out[1].role = ROLE_OUTPUT;
    out[1].has_gradient = false;
    return 2;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    (void)c;
    return pass == PASS_FORWARD ? kiln_twice(k, views[0], views[1])
                                : kiln_twice(k, views[3], views[2]);
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t count = 1;
    (void)t;
    for (uint32_t n = 0; n < c->rank; n++)
        count *= (size_t)c->sizes[n];
    for (size_t i = 0; i < count; i++)
        values[1][i] = 2 * values[0][i];
}

const op_suite op_suite_twice = {.name = "twice",
                                 .cases = cases,
                                 .case_count = sizeof cases / sizeof *cases,
                                 .has_backward = true,
                                 .tensors = tensors,
                                 .call = call,
                                 .reference = reference};
