// The cases of softmax (ops/suite.h).
#include "ops/suite.h"

#include <math.h>

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/softmax/cases.def"
};

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    out[0] = (op_tensor){.name = "x",
                         .type = type,
                         .rank = c->rank,
                         .low = -3,
                         .high = 3,
                         .has_gradient = true,
                         .tolerance = 16};
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
    if (pass == PASS_FORWARD)
        return kiln_softmax_forward(
            k, &(kiln_softmax_desc){
                   .x = views[0], .out = views[1], .axis = c->axis, .is_log = c->option != 0});
    return kiln_softmax_backward(k, &(kiln_softmax_backward_desc){.out = views[1],
                                                                  .dout = views[3],
                                                                  .dx = views[2],
                                                                  .axis = c->axis,
                                                                  .is_log = c->option != 0});
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t outer = 1, step = 1, size = (size_t)c->sizes[c->axis];
    for (uint32_t n = 0; n < c->rank; n++)
        *(n < c->axis ? &outer : n > c->axis ? &step : &(size_t){0}) *= (size_t)c->sizes[n];
    (void)t;
    for (size_t row = 0; row < outer * step; row++) {
        size_t first = row / step * size * step + row % step;
        double largest = -HUGE_VAL, sum = 0;
        for (size_t i = 0; i < size; i++)
            largest = fmax(largest, values[0][first + i * step]);
        for (size_t i = 0; i < size; i++)
            sum += exp(values[0][first + i * step] - largest);
        for (size_t i = 0; i < size; i++) {
            double x = values[0][first + i * step] - largest;
            values[1][first + i * step] = c->option ? x - log(sum) : exp(x) / sum;
        }
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "axis %u%s", c->axis, c->option ? " log" : "");
}

const op_suite op_suite_softmax = {.name = "softmax",
                                   .cases = cases,
                                   .case_count = sizeof cases / sizeof *cases,
                                   .has_backward = true,
                                   .tensors = tensors,
                                   .call = call,
                                   .reference = reference,
                                   .describe = describe};
