// The cases of layer norm and root mean square norm (ops/suite.h). Tensors: x, weight, bias,
// residual, out, sum, and the workspace of backward.
#include "ops/suite.h"

#include <math.h>

enum { RMS = 1, WEIGHT = 2, BIAS = 4, ADD = 8 };
enum { X, W, B, RESIDUAL, OUT, SUM, WORK, TENSORS };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/norm/cases.def"
};

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    const op_tensor x = {.name = "x",
                         .type = type,
                         .rank = c->rank,
                         .low = -2,
                         .high = 3,
                         .has_gradient = true,
                         .tolerance = 64};
    size_t rows = 1;
    out[X] = x;
    for (uint32_t n = 0; n < c->rank; n++) {
        out[X].sizes[n] = c->sizes[n];
        rows *= n == c->axis ? 1 : c->sizes[n];
    }
    out[W] = out[B] = x;
    out[W].rank = out[B].rank = 1;
    out[W].sizes[0] = out[B].sizes[0] = c->sizes[c->axis];
    out[W].name = "weight";
    out[W].has_gradient = c->option & WEIGHT;
    out[B].name = "bias";
    out[B].has_gradient = c->option & BIAS;
    out[OUT] = out[X];
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[OUT].has_gradient = false;
    out[RESIDUAL] = out[X];
    out[RESIDUAL].name = "residual";
    out[RESIDUAL].has_gradient = c->option & ADD;
    // What is not used has no bytes to move.
    out[W].role = c->option & WEIGHT ? ROLE_INPUT : ROLE_SCRATCH;
    out[B].role = c->option & BIAS ? ROLE_INPUT : ROLE_SCRATCH;
    out[RESIDUAL].role = c->option & ADD ? ROLE_INPUT : ROLE_SCRATCH;
    out[SUM] = out[OUT];
    out[SUM].name = "sum";
    out[SUM].role = c->option & ADD ? ROLE_OUTPUT : ROLE_SCRATCH;
    out[WORK] = (op_tensor){.name = "workspace",
                            .role = ROLE_SCRATCH,
                            .type = KILN_F32,
                            .rank = 1,
                            .sizes = {2 * rows}};
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_view none = {.buffer = NULL}, weight = c->option & WEIGHT ? views[W] : none;
    if (pass == PASS_FORWARD)
        return kiln_norm_forward(
            k, &(kiln_norm_desc){.x = views[X],
                                 .weight = weight,
                                 .bias = c->option & BIAS ? views[B] : none,
                                 .out = views[OUT],
                                 .residual = c->option & ADD ? views[RESIDUAL] : none,
                                 .sum = c->option & ADD ? views[SUM] : none,
                                 .axis = c->axis,
                                 .is_rms = c->option & RMS,
                                 .eps = c->alpha});
    const kiln_view *gradients = views + TENSORS;
    kiln_status status =
        kiln_norm_backward(k, &(kiln_norm_backward_desc){.x = views[c->option & ADD ? SUM : X],
                                                         .dsum = gradients[SUM],
                                                         .weight = weight,
                                                         .dout = gradients[OUT],
                                                         .dx = gradients[X],
                                                         .dweight = gradients[W],
                                                         .dbias = gradients[B],
                                                         .workspace = views[WORK],
                                                         .axis = c->axis,
                                                         .is_rms = c->option & RMS,
                                                         .eps = c->alpha});
    if (!status && c->option & ADD) // the same for both
        status = kiln_copy_view(
            k, &(kiln_copy_view_desc){.in = gradients[X], .out = gradients[RESIDUAL]});
    return status;
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t outer = 1, step = 1, size = (size_t)c->sizes[c->axis];
    for (uint32_t n = 0; n < c->rank; n++)
        *(n < c->axis ? &outer : n > c->axis ? &step : &(size_t){0}) *= (size_t)c->sizes[n];
    const double *x = values[c->option & ADD ? SUM : X];
    size_t total = outer * step * size;
    for (size_t i = 0; i < total && c->option & ADD; i++)
        values[SUM][i] = values[X][i] + values[RESIDUAL][i];
    (void)t;
    for (size_t row = 0; row < outer * step; row++) {
        size_t first = row / step * size * step + row % step;
        double mean = 0, squares = 0;
        for (size_t i = 0; i < size && !(c->option & RMS); i++)
            mean += x[first + i * step] / (double)size;
        for (size_t i = 0; i < size; i++)
            squares += pow(x[first + i * step] - mean, 2) / (double)size;
        for (size_t i = 0; i < size; i++)
            values[OUT][first + i * step] = (x[first + i * step] - mean) /
                                                sqrt(squares + c->alpha) *
                                                (c->option & WEIGHT ? values[W][i] : 1) +
                                            (c->option & BIAS ? values[B][i] : 0);
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "%s%s axis %u%s%s", c->option & ADD ? "add " : "",
             c->option & RMS ? "rms" : "layer", c->axis, c->option & WEIGHT ? " weight" : "",
             c->option & BIAS ? " bias" : "");
}

// Rows of a few elements may vary so little that the result is nothing but rounding.
static bool is_possible(const op_case *c)
{
    return c->sizes[c->axis] == 0 || c->sizes[c->axis] >= 8;
}

// Backward without dweight and dbias, near the end of buffers of a narrow type: nothing stands in
// for the workspace where an f32 would be outside.
static int more(kiln *k, int *passed)
{
    kiln_buffer *x = NULL, *dx = NULL;
    bool is_right =
        !kiln_buffer_new(k, KILN_BF16, 160, &x) && !kiln_buffer_new(k, KILN_BF16, 160, &dx);
    kiln_norm_backward_desc d = {.x = KILN_VIEW(x, 2, 8),
                                 .dout = KILN_VIEW(x, 2, 8),
                                 .dx = KILN_VIEW(dx, 2, 8),
                                 .axis = 1,
                                 .eps = 1e-5};
    d.x.first = d.dout.first = d.dx.first = 144;
    is_right = is_right && !kiln_norm_backward(k, &d) && !kiln_sync(k);
    if (!is_right)
        printf("norm: backward near the end of a buffer: %s\n", kiln_last_error(k)->text);
    kiln_buffer_free(x);
    kiln_buffer_free(dx);
    *passed += is_right;
    return !is_right;
}

const op_suite op_suite_norm = {.name = "norm",
                                .cases = cases,
                                .case_count = sizeof cases / sizeof *cases,
                                .has_backward = true,
                                .tensors = tensors,
                                .call = call,
                                .reference = reference,
                                .is_possible = is_possible,
                                .describe = describe,
                                .more = more};
