// The cases of batch norm (ops/suite.h). Running statistics are copied, and the copies updated.
#include "ops/suite.h"

#include <math.h>

enum { WEIGHT = 1, BIAS = 2, RUNNING = 4, EVAL = 8 };
enum { X, W, B, RM, RV, OUT, MEAN, SCALE, RM_OUT, RV_OUT, WORK, TENSORS };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/batch_norm/cases.def"
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
    uint64_t count = 1, groups = c->sizes[1];
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
    out[SCALE] = out[RM] = out[RV] = out[RM_OUT] = out[RV_OUT] = out[MEAN];
    out[SCALE].name = "scale";
    out[RM].name = "running_mean";
    out[RV].name = "running_variance";
    out[RM].role = out[RV].role = ROLE_INPUT;
    out[RM].low = -1;
    out[RM].high = out[RV].high = 1;
    out[RV].low = 0.5;
    out[RM].is_constant = out[RV].is_constant = false;
    out[RM_OUT].name = "new running_mean";
    out[RV_OUT].name = "new running_variance";
    out[RM_OUT].role = out[RV_OUT].role = c->option & RUNNING ? ROLE_OUTPUT : ROLE_SCRATCH;
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
    bool is_eval = c->option & EVAL, is_running = c->option & RUNNING;
    kiln_status status = KILN_OK;
    if (pass == PASS_BACKWARD)
        return kiln_batch_norm_backward(
            k, &(kiln_batch_norm_backward_desc){.x = views[X],
                                                .weight = weight,
                                                .mean = views[MEAN],
                                                .scale = views[SCALE],
                                                .dout = gradients[OUT],
                                                .dx = gradients[X],
                                                .dweight = gradients[W],
                                                .dbias = gradients[B],
                                                .workspace = dense(views[WORK]),
                                                .is_eval = is_eval});
    for (uint32_t n = 0; n < 2 && is_running && !status; n++)
        status = kiln_copy_view(
            k, &(kiln_copy_view_desc){.in = views[RM + n], .out = views[RM_OUT + n]});
    return status ? status
                  : kiln_batch_norm_forward(
                        k, &(kiln_batch_norm_desc){.x = views[X],
                                                   .out = views[OUT],
                                                   .weight = weight,
                                                   .bias = c->option & BIAS ? views[B] : none,
                                                   .running_mean = is_eval      ? views[RM]
                                                                   : is_running ? views[RM_OUT]
                                                                                : none,
                                                   .running_variance = is_eval      ? views[RV]
                                                                       : is_running ? views[RV_OUT]
                                                                                    : none,
                                                   .mean = views[MEAN],
                                                   .scale = views[SCALE],
                                                   .workspace = dense(views[WORK]),
                                                   .eps = c->alpha,
                                                   .momentum = c->beta,
                                                   .is_eval = is_eval});
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t plane = 1, channels = (size_t)c->sizes[1], items = (size_t)c->sizes[0];
    (void)t;
    for (uint32_t d = 2; d < c->rank; d++)
        plane *= (size_t)c->sizes[d];
    for (size_t channel = 0; channel < channels && items; channel++) {
        double mean = 0, squares = 0, count = (double)(items * plane);
#define EACH                                                                                       \
    for (size_t n = 0; n < items; n++)                                                             \
        for (size_t i = (n * channels + channel) * plane, end = i + plane; i < end; i++)
        EACH mean += values[X][i] / count;
        EACH squares += (values[X][i] - mean) * (values[X][i] - mean);
        if (c->option & RUNNING) {
            values[RM_OUT][channel] = values[RM][channel] * (1 - c->beta) + mean * c->beta;
            values[RV_OUT][channel] =
                values[RV][channel] * (1 - c->beta) + squares / (count - 1) * c->beta;
        }
        if (c->option & EVAL) {
            mean = values[RM][channel];
            squares = values[RV][channel] * count;
        }
        values[MEAN][channel] = mean;
        values[SCALE][channel] = 1 / sqrt(squares / count + c->alpha);
        EACH values[OUT][i] = (values[X][i] - mean) * values[SCALE][channel] *
                                  (c->option & WEIGHT ? values[W][channel] : 1) +
                              (c->option & BIAS ? values[B][channel] : 0);
#undef EACH
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s%s", c->option & EVAL ? "eval" : "train",
             c->option & WEIGHT ? " weight" : "", c->option & BIAS ? " bias" : "",
             c->option & RUNNING ? " running" : "");
}

// Channels of a few elements may vary so little that the result is nothing but rounding; those
// without any are in cases.def.
static bool is_possible(const op_case *c)
{
    uint64_t elements = c->sizes[0];
    for (uint32_t n = 2; n < c->rank; n++)
        elements *= c->sizes[n];
    return elements >= 12;
}

// The gradients of weight and bias of an empty batch are zeros.
static int test_empty(kiln *k, int *passed)
{
    float numbers[16];
    kiln_buffer *all = NULL, *work = NULL;
    for (int n = 0; n < 16; n++)
        numbers[n] = NAN;
    bool is_good = !kiln_buffer_new(k, KILN_F32, 16, &all) && !kiln_write(all, 0, numbers, 16) &&
                   !kiln_buffer_new(k, KILN_F32, 16, &work);
    if (is_good) {
        const uint64_t sizes[] = {0, 3, 4};
        kiln_view none = kiln_view_of(all, 3, sizes), line = kiln_view_all(all);
        is_good =
            !kiln_batch_norm_backward(
                k, &(kiln_batch_norm_backward_desc){.x = none,
                                                    .dout = none,
                                                    .dx = none,
                                                    .mean = kiln_view_slice(line, 0, 0, 3, 1),
                                                    .scale = kiln_view_slice(line, 0, 3, 6, 1),
                                                    .dweight = kiln_view_slice(line, 0, 6, 9, 1),
                                                    .dbias = kiln_view_slice(line, 0, 9, 12, 1),
                                                    .workspace = kiln_view_all(work)}) &&
            !kiln_read(all, 0, numbers, 16);
        if (!is_good)
            printf("batch_norm of nothing: %s\n", kiln_last_error(k)->text);
        for (int n = 0; n < 16 && is_good; n++)
            is_good = n >= 6 && n < 12 ? numbers[n] == 0 : isnan(numbers[n]);
    }
    kiln_buffer_free(all);
    kiln_buffer_free(work);
    *passed += is_good;
    return !is_good;
}

const op_suite op_suite_batch_norm = {.name = "batch_norm",
                                      .cases = cases,
                                      .case_count = sizeof cases / sizeof *cases,
                                      .has_backward = true,
                                      .tensors = tensors,
                                      .call = call,
                                      .reference = reference,
                                      .is_possible = is_possible,
                                      .describe = describe,
                                      .more = test_empty};
