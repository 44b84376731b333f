// The cases of cross-entropy (ops/suite.h). Tensors: logits, targets, weight, loss, lse,
// total_weight, the workspace.
#include "ops/suite.h"

#include <math.h>

enum { REDUCTION = 3, MEAN = 1, SUM = 2, WEIGHT = 4, IGNORE = 8, I32 = 16, IGNORED_CLASS = 1 };
enum { X, Y, W, LOSS, LSE, TOTAL, WORK, TENSORS };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/cross_entropy/cases.def"
};

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    uint64_t rows = 1;
    bool is_reduced = c->option & REDUCTION;
    out[X] = (op_tensor){.name = "logits",
                         .type = type,
                         .rank = c->rank,
                         .low = -3,
                         .high = 3,
                         .has_gradient = true,
                         .tolerance = 32};
    out[Y] = (op_tensor){.name = "targets",
                         .type = c->option & I32 ? KILN_I32 : KILN_I64,
                         .high = (double)c->sizes[c->axis],
                         .is_integer = true};
    for (uint32_t n = 0; n < c->rank; n++) {
        out[X].sizes[n] = c->sizes[n];
        if (n == c->axis)
            continue;
        out[Y].sizes[out[Y].rank++] = c->sizes[n];
        rows *= c->sizes[n];
    }
    out[W] = (op_tensor){.name = "weight",
                         .type = KILN_F32,
                         .rank = 1,
                         .sizes = {c->sizes[c->axis]},
                         .low = 0.25,
                         .high = 2};
    out[LOSS] = out[Y];
    out[LOSS].name = "loss";
    out[LOSS].role = ROLE_OUTPUT;
    out[LOSS].type = type;
    out[LOSS].tolerance = 64;
    out[LSE] = out[LOSS];
    out[LSE].name = "lse";
    out[LSE].type = KILN_F32;
    out[LSE].is_constant = true;
    if (is_reduced)
        out[LOSS].rank = 0;
    out[TOTAL] = (op_tensor){.name = "total_weight",
                             .role = is_reduced ? ROLE_OUTPUT : ROLE_SCRATCH,
                             .type = KILN_F32,
                             .is_constant = true,
                             .tolerance = 64};
    out[WORK] = (op_tensor){.name = "workspace",
                            .role = ROLE_SCRATCH,
                            .type = KILN_F64,
                            .rank = 1,
                            .sizes = {rows / 2 + 1 + rows / 8192 + 1}};
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_view none = {.buffer = NULL}, weight = c->option & WEIGHT ? views[W] : none;
    if (pass == PASS_FORWARD)
        return kiln_cross_entropy_forward(
            k,
            &(kiln_cross_entropy_desc){.logits = views[X],
                                       .targets = views[Y],
                                       .weight = weight,
                                       .loss = views[LOSS],
                                       .lse = views[LSE],
                                       .total_weight = c->option & REDUCTION ? views[TOTAL] : none,
                                       .workspace = views[WORK],
                                       .axis = c->axis,
                                       .reduction = (kiln_loss_reduction)(c->option & REDUCTION),
                                       .label_smoothing = c->alpha,
                                       .has_ignored_class = c->option & IGNORE,
                                       .ignored_class = IGNORED_CLASS});
    return kiln_cross_entropy_backward(
        k, &(kiln_cross_entropy_backward_desc){.logits = views[X],
                                               .targets = views[Y],
                                               .weight = weight,
                                               .lse = views[LSE],
                                               .total_weight = views[TOTAL],
                                               .dloss = views[TENSORS + LOSS],
                                               .dlogits = views[TENSORS + X],
                                               .axis = c->axis,
                                               .reduction =
                                                   (kiln_loss_reduction)(c->option & REDUCTION),
                                               .label_smoothing = c->alpha,
                                               .has_ignored_class = c->option & IGNORE,
                                               .ignored_class = IGNORED_CLASS});
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t outer = 1, step = 1, classes = (size_t)c->sizes[c->axis];
    for (uint32_t n = 0; n < c->rank; n++)
        *(n < c->axis ? &outer : n > c->axis ? &step : &(size_t){0}) *= (size_t)c->sizes[n];
    double total = 0, sum = 0;
    (void)t;
    for (size_t row = 0; row < outer * step; row++) {
        const double *x = values[X] + row / step * classes * step + row % step;
        size_t y = (size_t)values[Y][row];
        double largest = -HUGE_VAL, exponentials = 0, smooth = 0;
        for (size_t i = 0; i < classes; i++)
            largest = fmax(largest, x[i * step]);
        for (size_t i = 0; i < classes; i++)
            exponentials += exp(x[i * step] - largest);
        double lse = largest + log(exponentials), weight = c->option & WEIGHT ? values[W][y] : 1;
        for (size_t i = 0; i < classes; i++)
            smooth += (c->option & WEIGHT ? values[W][i] : 1) * (lse - x[i * step]);
        double loss =
            (1 - c->alpha) * weight * (lse - x[y * step]) + c->alpha / (double)classes * smooth;
        if (c->option & IGNORE && y == IGNORED_CLASS)
            loss = weight = 0;
        values[LSE][row] = lse;
        sum += loss;
        total += weight;
        if (!(c->option & REDUCTION))
            values[LOSS][row] = loss;
    }
    if (c->option & REDUCTION) {
        values[LOSS][0] = c->option & MEAN ? sum / total : sum;
        values[TOTAL][0] = c->option & MEAN ? total : 0;
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    int len = snprintf(out, size, "axis %u%s%s%s%s", c->axis,
                       c->option & MEAN  ? " mean"
                       : c->option & SUM ? " sum"
                                         : "",
                       c->option & WEIGHT ? " weight" : "", c->option & IGNORE ? " ignore" : "",
                       c->option & I32 ? " i32" : "");
    if (c->alpha > 0)
        snprintf(out + len, size - (size_t)len, " smoothing %g", c->alpha);
}

// Rows with infinities and NaN, among the logits that a thread takes first and later: the
// logarithm of the sum.
static bool is_special_right(kiln *k)
{
    enum { ROWS = 7, CLASSES = 5000 };
    static const float put[ROWS][2] = {
        {INFINITY, 0},     {-INFINITY, INFINITY}, {NAN, 0}, {INFINITY, NAN}, {-INFINITY, 3e38f},
        {3e38f, INFINITY}, {-INFINITY, -INFINITY}};
    static const float want[ROWS] = {INFINITY, INFINITY, NAN, NAN, 3e38f, INFINITY, -INFINITY};
    static float x[ROWS * CLASSES];
    static const int32_t y[ROWS];
    float lse[ROWS] = {0};
    kiln_buffer *logits = NULL, *targets = NULL, *loss = NULL, *out = NULL;
    for (int i = 0; i < ROWS * CLASSES; i++)
        x[i] = i / CLASSES == ROWS - 1 ? -INFINITY : (float)(i % 7);
    for (int row = 0; row < ROWS; row++) {
        x[row * CLASSES + 2] = put[row][0];
        x[row * CLASSES + CLASSES - 3] = put[row][1];
    }
    bool is_right =
        !kiln_buffer_new(k, KILN_F32, ROWS * CLASSES, &logits) &&
        !kiln_write(logits, 0, x, ROWS * CLASSES) &&
        !kiln_buffer_new(k, KILN_I32, ROWS, &targets) && !kiln_write(targets, 0, y, ROWS) &&
        !kiln_buffer_new(k, KILN_F32, ROWS, &loss) && !kiln_buffer_new(k, KILN_F32, ROWS, &out) &&
        !kiln_cross_entropy_forward(
            k, &(kiln_cross_entropy_desc){.logits = KILN_VIEW(logits, ROWS, CLASSES),
                                          .targets = KILN_VIEW(targets, ROWS),
                                          .loss = KILN_VIEW(loss, ROWS),
                                          .lse = KILN_VIEW(out, ROWS),
                                          .axis = 1}) &&
        !kiln_read(out, 0, lse, ROWS);
    for (int row = 0; row < ROWS && is_right; row++) {
        is_right = isnan(want[row]) ? isnan(lse[row]) : lse[row] == want[row];
        if (!is_right)
            printf("cross_entropy: row %d: the sum is %g\n", row, (double)lse[row]);
    }
    kiln_buffer_free(logits);
    kiln_buffer_free(targets);
    kiln_buffer_free(loss);
    kiln_buffer_free(out);
    return is_right;
}

// A class that there is not, and calls that are wrong.
static int more(kiln *k, int *passed)
{
    const float x[8] = {1, 2, 3, 4, 1, 2, 3, 4};
    const int32_t y[2] = {4, 3};
    float loss[2] = {0, 0};
    kiln_buffer *logits = NULL, *targets = NULL, *out = NULL;
    bool is_right = !kiln_buffer_new(k, KILN_F32, 8, &logits) && !kiln_write(logits, 0, x, 8) &&
                    !kiln_buffer_new(k, KILN_I32, 2, &targets) && !kiln_write(targets, 0, y, 2) &&
                    !kiln_buffer_new(k, KILN_F32, 2, &out);
    kiln_cross_entropy_desc d = {.logits = KILN_VIEW(logits, 2, 4),
                                 .targets = KILN_VIEW(targets, 2),
                                 .loss = KILN_VIEW(out, 2),
                                 .axis = 1};
    is_right = is_right && !kiln_cross_entropy_forward(k, &d) && !kiln_read(out, 0, loss, 2) &&
               isnan(loss[0]) && fabs((double)loss[1] - 0.4401897) < 1e-6;
    d.axis = 2;
    is_right = is_right && kiln_cross_entropy_forward(k, &d) == KILN_E_BAD_ARGUMENT;
    d.axis = 0;
    is_right = is_right && kiln_cross_entropy_forward(k, &d) == KILN_E_BAD_ARGUMENT;
    d.axis = 1;
    d.reduction = KILN_LOSS_MEAN; // loss is not one element
    is_right = is_right && kiln_cross_entropy_forward(k, &d) == KILN_E_BAD_ARGUMENT;
    if (!is_right)
        printf("cross_entropy: a wrong class or call: %g %g\n", (double)loss[0], (double)loss[1]);
    kiln_buffer_free(logits);
    kiln_buffer_free(targets);
    kiln_buffer_free(out);
    bool is_special = is_special_right(k);
    *passed += is_right + is_special;
    return !is_right + !is_special;
}

// A target is one of the classes.
static bool is_possible(const op_case *c)
{
    return c->sizes[c->axis] > 0;
}

const op_suite op_suite_cross_entropy = {.name = "cross_entropy",
                                         .cases = cases,
                                         .case_count = sizeof cases / sizeof *cases,
                                         .has_backward = true,
                                         .tensors = tensors,
                                         .call = call,
                                         .reference = reference,
                                         .is_possible = is_possible,
                                         .describe = describe,
                                         .more = more};
