// The cases of upsampling (ops/suite.h).
#include "ops/suite.h"

#include <math.h>

enum { LINEAR = 1, CORNERS = 2, FLOATS = SUITE_FLOATS | SUITE_F64 };
enum { X, OUT, TENSORS };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/upsample/cases.def"
};

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    bool is_float = type >= KILN_F16;
    out[X] = (op_tensor){.name = "x",
                         .type = type,
                         .rank = c->rank,
                         .low = is_float ? -3 : 0,
                         .high = 3,
                         .is_integer = !is_float,
                         .has_gradient = is_float,
                         .tolerance = 64};
    for (uint32_t d = 0; d < c->rank && type == KILN_F64; d++)
        out[X].tolerance += 16 * (double)c->sizes[d]; // positions are f64: their error grows
    out[OUT] = out[X];
    for (uint32_t d = 0; d < c->rank; d++) {
        out[X].sizes[d] = c->sizes[d];
        bool is_same = d + c->axis < c->rank;
        out[OUT].sizes[d] =
            is_same ? c->sizes[d] : (uint64_t)floor((double)c->sizes[d] * c->alpha + 0.01);
    }
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[OUT].has_gradient = false;
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_upsample_mode mode = c->option & LINEAR ? KILN_UPSAMPLE_LINEAR : KILN_UPSAMPLE_NEAREST;
    if (pass == PASS_FORWARD)
        return kiln_upsample_forward(k,
                                     &(kiln_upsample_desc){.x = views[X],
                                                           .out = views[OUT],
                                                           .mode = mode,
                                                           .aligns_corners = c->option & CORNERS});
    return kiln_upsample_backward(
        k, &(kiln_upsample_backward_desc){.dout = views[TENSORS + OUT],
                                          .dx = views[TENSORS + X],
                                          .mode = mode,
                                          .aligns_corners = c->option & CORNERS});
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t total = 1;
    for (uint32_t d = 0; d < c->rank; d++)
        total *= (size_t)t[OUT].sizes[d];
    for (size_t i = 0; i < total; i++) {
        size_t low[KILN_MAX_RANK], rest = i;
        double share[KILN_MAX_RANK], sum = 0;
        for (uint32_t d = c->rank; d-- > 0; rest /= t[OUT].sizes[d]) {
            double in = (double)t[X].sizes[d], out = (double)t[OUT].sizes[d];
            double at = (double)(rest % t[OUT].sizes[d]);
            if (!(c->option & LINEAR))
                at = floor(at * in / out + 1e-9);
            else if (c->option & CORNERS)
                at = out > 1 ? at * (in - 1) / (out - 1) : 0;
            else
                at = fmax((at + 0.5) * in / out - 0.5, 0);
            low[d] = (size_t)fmin(floor(at), in - 1);
            share[d] = fmin(at, in - 1) - (double)low[d];
        }
        for (uint32_t corner = 0; corner < 1u << c->rank; corner++) {
            size_t place = 0;
            double weight = 1;
            for (uint32_t d = 0; d < c->rank; d++) {
                uint32_t is_high = corner >> d & 1;
                size_t at = low[d] + (is_high && low[d] + 1 < t[X].sizes[d]);
                place = place * t[X].sizes[d] + at;
                weight *= is_high ? share[d] : 1 - share[d];
            }
            sum += weight > 0 ? weight * values[X][place] : 0;
        }
        values[OUT][i] = sum;
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "%s%s of %u by %g", c->option & LINEAR ? "linear" : "nearest",
             c->option & CORNERS ? " corners" : "", c->axis, c->alpha);
}

const op_suite op_suite_upsample = {.name = "upsample",
                                    .cases = cases,
                                    .case_count = sizeof cases / sizeof *cases,
                                    .has_backward = true,
                                    .tensors = tensors,
                                    .call = call,
                                    .reference = reference,
                                    .describe = describe};
