// The cases of group norm (ops/suite.h).
#include "ops/suite.h"

#include <math.h>

enum { WEIGHT = 1, BIAS = 2 };
enum { X, W, B, OUT, MEAN, SCALE, WORK, TENSORS };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/group_norm/cases.def"
};

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    out[X] = (op_tensor){.name = "x",
                         .type = type,
                         .rank = c->rank,
                         .low = -2,
                         .high = 3,
                         .has_gradient = true,
                         .tolerance = 64};
    uint64_t count = 1, groups = c->sizes[0] * c->axis;
    for (uint32_t d = 0; d < c->rank; d++) {
        out[X].sizes[d] = c->sizes[d];
        count *= c->rank == 2 || d + 1 < c->rank ? c->sizes[d] : 1;
    }
    out[W] = out[B] = out[OUT] = out[X];
    out[W].rank = out[B].rank = 1;
    out[W].sizes[0] = out[B].sizes[0] = c->sizes[1];
    out[W].name = "weight";
    out[W].has_gradient = c->option & WEIGHT;
    out[B].name = "bias";
    out[B].has_gradient = c->option & BIAS;
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[OUT].has_gradient = false;
    out[MEAN] = (op_tensor){.name = "mean",
                            .role = c->sizes[0] ? ROLE_OUTPUT : ROLE_SCRATCH,
                            .type = KILN_F32,
                            .rank = 1,
                            .sizes = {groups},
                            .is_constant = true,
                            .tolerance = 64};
    out[SCALE] = out[MEAN];
    out[SCALE].name = "scale";
    out[WORK] = out[MEAN];
    out[WORK].name = "workspace";
    out[WORK].role = ROLE_SCRATCH;
    out[WORK].sizes[0] = 2 * (count + groups);
    return TENSORS;
}

// Statistics are dense whatever the layout of the case is.
static kiln_view dense(kiln_view v)
{
    v.has_strides = false;
    v.first = 0;
    return v;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_view none = {.buffer = NULL}, weight = c->option & WEIGHT ? views[W] : none;
    const kiln_view *gradients = views + TENSORS;
    if (pass == PASS_FORWARD)
        return kiln_group_norm_forward(
            k, &(kiln_group_norm_desc){.x = views[X],
                                       .out = views[OUT],
                                       .weight = weight,
                                       .bias = c->option & BIAS ? views[B] : none,
                                       .groups = c->axis,
                                       .mean = views[MEAN],
                                       .scale = views[SCALE],
                                       .workspace = dense(views[WORK]),
                                       .eps = c->alpha});
    return kiln_group_norm_backward(
        k, &(kiln_group_norm_backward_desc){.x = views[X],
                                            .weight = weight,
                                            .mean = views[MEAN],
                                            .scale = views[SCALE],
                                            .dout = gradients[OUT],
                                            .dx = gradients[X],
                                            .dweight = gradients[W],
                                            .dbias = gradients[B],
                                            .workspace = dense(views[WORK]),
                                            .groups = c->axis});
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t plane = 1, channels = (size_t)c->sizes[1], together = channels / c->axis;
    (void)t;
    for (uint32_t d = 2; d < c->rank; d++)
        plane *= (size_t)c->sizes[d];
    for (size_t g = 0; g < c->sizes[0] * c->axis; g++) {
        const double *x = values[X] + g * together * plane;
        double mean = 0, squares = 0, size = (double)(together * plane);
        for (size_t i = 0; i < together * plane; i++)
            mean += x[i] / size;
        for (size_t i = 0; i < together * plane; i++)
            squares += (x[i] - mean) * (x[i] - mean) / size;
        values[MEAN][g] = mean;
        values[SCALE][g] = 1 / sqrt(squares + c->alpha);
        for (size_t i = 0; i < together * plane; i++) {
            size_t channel = g % c->axis * together + i / plane;
            values[OUT][g * together * plane + i] =
                (x[i] - mean) * values[SCALE][g] * (c->option & WEIGHT ? values[W][channel] : 1) +
                (c->option & BIAS ? values[B][channel] : 0);
        }
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "%u groups%s%s", c->axis, c->option & WEIGHT ? " weight" : "",
             c->option & BIAS ? " bias" : "");
}

// Groups of a few elements may vary so little that the result is nothing but rounding; those
// without any are in cases.def.
static bool is_possible(const op_case *c)
{
    uint64_t elements = c->sizes[0] > 0;
    for (uint32_t n = 1; n < c->rank; n++)
        elements *= c->sizes[n];
    return elements >= 96 && c->sizes[1] % c->axis == 0;
}

const op_suite op_suite_group_norm = {.name = "group_norm",
                                      .cases = cases,
                                      .case_count = sizeof cases / sizeof *cases,
                                      .has_backward = true,
                                      .tensors = tensors,
                                      .call = call,
                                      .reference = reference,
                                      .is_possible = is_possible,
                                      .describe = describe};
