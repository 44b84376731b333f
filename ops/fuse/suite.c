// The cases of fused expressions (ops/suite.h): three expressions, written as nodes and in double.
// Random expressions, refusals and the cache are in suite_random.c.
#include "ops/fuse/suite_fuse.h"

#include <math.h>

enum { TEN, PAIR, PLAIN }; // option

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/fuse/cases.def"
};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

// --- the expressions
// ((x + b) …)²: ten ops, one output.
static kiln_node ten_nodes(kiln_expr *e, kiln_node x, kiln_node b)
{
    kiln_node y = kiln_expr_op(e, KILN_EW_ADD, x, b, 0);
    y = kiln_expr_op(e, KILN_EW_GELU, y, 0, 0);
    y = kiln_expr_op(e, KILN_EW_MUL, y, x, 0);
    y = kiln_expr_op(e, KILN_EW_TANH, y, 0, 0);
    y = kiln_expr_op_with(e, KILN_EW_SCALE, y, 0, 0, kiln_expr_parameter(e, 0),
                          kiln_expr_parameter(e, 1));
    y = kiln_expr_op(e, KILN_EW_SILU, y, 0, 0);
    y = kiln_expr_op(e, KILN_EW_SUB, y, b, 0);
    y = kiln_expr_op(e, KILN_EW_SIGMOID, y, 0, 0);
    y = kiln_expr_op(e, KILN_EW_MULTIPLY_ADD, x, b, y);
    return kiln_expr_op(e, KILN_EW_SQUARE, y, 0, 0);
}

static double ten_value(double x, double b)
{
    double y = x + b;
    y = 0.5 * y * (1 + erf(y * sqrt(0.5)));
    y = 0.5 * tanh(y * x) + 0.25;
    y = sigmoid(y * sigmoid(y) - b);
    return (x * b + y) * (x * b + y);
}

// Ten ops that are an instruction or two each.
static kiln_node plain_nodes(kiln_expr *e, kiln_node x, kiln_node b)
{
    kiln_node y = kiln_expr_op(e, KILN_EW_ADD, x, b, 0);
    y = kiln_expr_op(e, KILN_EW_MUL, y, x, 0);
    y = kiln_expr_op_with(e, KILN_EW_SCALE, y, 0, 0, kiln_expr_parameter(e, 0),
                          kiln_expr_parameter(e, 1));
    y = kiln_expr_op(e, KILN_EW_RELU, y, 0, 0);
    y = kiln_expr_op(e, KILN_EW_SUB, y, b, 0);
    y = kiln_expr_op(e, KILN_EW_ABS, y, 0, 0);
    y = kiln_expr_op(e, KILN_EW_MULTIPLY_ADD, x, b, y);
    y = kiln_expr_op(e, KILN_EW_MAX, y, x, 0);
    y = kiln_expr_op(e, KILN_EW_SQUARE, y, 0, 0);
    return kiln_expr_op(e, KILN_EW_NEG, y, 0, 0);
}

static double plain_value(double x, double b)
{
    double y = fmax(0.5 * (x + b) * x + 0.25, 0);
    y = fmax(x * b + fabs(y - b), x);
    return -y * y;
}

// (x - b)², and |x - b| (x - b) where x < b, else 2 (x - b)²: smooth where x is b.
static void pair_nodes(kiln_expr *e, kiln_node x, kiln_node b, kiln_node out[2])
{
    kiln_node d = kiln_expr_op(e, KILN_EW_SUB, x, b, 0);
    kiln_node square = kiln_expr_op(e, KILN_EW_SQUARE, d, 0, 0);
    kiln_node below = kiln_expr_op(e, KILN_EW_MUL, kiln_expr_op(e, KILN_EW_ABS, d, 0, 0), d, 0);
    kiln_node twice = kiln_expr_op(e, KILN_EW_MUL, square, kiln_expr_constant(e, 2), 0);
    out[0] = square;
    out[1] = kiln_expr_op(e, KILN_EW_WHERE, kiln_expr_op(e, KILN_EW_LESS, x, b, 0), below, twice);
}

// --- tensors
static uint32_t output_count(const op_case *c)
{
    return c->option == PAIR ? 2 : 1;
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    static const char *const names[] = {"x", "b", "out", "other"};
    uint32_t count = 2 + output_count(c);
    for (uint32_t n = 0; n < count; n++) {
        out[n] = (op_tensor){.name = names[n],
                             .role = n < 2 ? ROLE_INPUT : ROLE_OUTPUT,
                             .type = type,
                             .rank = c->rank,
                             .low = n == 1 ? 0.25 : -2,
                             .high = n == 1 ? 1 : 2,
                             .has_gradient = n < 2,
                             .tolerance = 64};
        for (uint32_t d = 0; d < c->rank; d++)
            out[n].sizes[d] =
                (n == 1 && d == 0) || (n == 2 && (uint32_t)c->alpha >> d & 1) ? 1 : c->sizes[d];
    }
    return count;
}

static uint64_t reduced_count(const op_case *c)
{
    uint64_t count = 1;
    for (uint32_t d = 0; d < c->rank; d++)
        count *= (uint32_t)c->alpha >> d & 1 ? c->sizes[d] : 1;
    return count;
}

// --- calls
static void nodes_of(const op_case *c, kiln_expr *e, kiln_node in[2], kiln_node out[2])
{
    in[0] = kiln_expr_input(e, 0);
    in[1] = kiln_expr_input(e, 1);
    out[0] = out[1] = 0;
    if (c->option == PAIR)
        pair_nodes(e, in[0], in[1], out);
    else
        out[0] = (c->option == TEN ? ten_nodes : plain_nodes)(e, in[0], in[1]);
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_expr e = {0};
    kiln_node in[2], out[2], dout[2], gradients[2];
    uint32_t outputs = output_count(c);
    kiln_fuse_desc d = {.expression = &e,
                        .in = {views[0], views[1]},
                        .axes = (uint32_t)c->alpha,
                        .parameters = {0.5, 0.25}};
    nodes_of(c, &e, in, out);
    if (pass == PASS_FORWARD) {
        for (uint32_t n = 0; n < outputs; n++)
            d.out[n] = (kiln_fuse_output){.node = out[n], .view = views[2 + n]};
        d.out[0].reduction = (kiln_fuse_reduction)c->axis;
        return kiln_fuse(k, &d);
    }
    for (uint32_t n = 0; n < outputs; n++) {
        dout[n] = kiln_expr_input(&e, 2 + n);
        d.in[2 + n] = views[2 + outputs + 2 + n];
    }
    if (c->axis == KILN_FUSE_MEAN)
        dout[0] = kiln_expr_op(&e, KILN_EW_MUL, dout[0],
                               kiln_expr_constant(&e, 1 / (double)reduced_count(c)), 0);
    kiln_expr_gradient(&e, outputs, out, dout, 2, in, gradients);
    d.axes = 1; // along which b was repeated
    d.out[0] = (kiln_fuse_output){.node = gradients[0], .view = views[2 + outputs]};
    d.out[1] = (kiln_fuse_output){
        .node = gradients[1], .view = views[2 + outputs + 1], .reduction = KILN_FUSE_SUM};
    return kiln_fuse(k, &d);
}

// --- the reference
static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t total = 1, results = 1;
    for (uint32_t d = 0; d < c->rank; d++) {
        total *= (size_t)c->sizes[d];
        results *= (size_t)t[2].sizes[d];
    }
    for (size_t i = 0; i < results; i++)
        values[2][i] = c->axis == KILN_FUSE_MAX                         ? -HUGE_VAL
                       : c->axis == KILN_FUSE_MIN                       ? HUGE_VAL
                       : c->axis == KILN_FUSE_MEAN && !reduced_count(c) ? (double)NAN
                                                                        : 0;
    for (size_t i = 0; i < total; i++) {
        size_t rest = i, row = 0, result = 0, row_step = 1, result_step = 1;
        for (uint32_t d = c->rank; d-- > 0;) {
            size_t at = rest % c->sizes[d];
            rest /= c->sizes[d];
            row += t[1].sizes[d] == 1 ? 0 : at * row_step;
            row_step *= t[1].sizes[d];
            result += t[2].sizes[d] == 1 ? 0 : at * result_step;
            result_step *= t[2].sizes[d];
        }
        double x = values[0][i], b = values[1][row], d = x - b;
        double y = c->option == PAIR  ? d * d
                   : c->option == TEN ? ten_value(x, b)
                                      : plain_value(x, b);
        double *to = &values[2][result];
        if (c->option == PAIR)
            values[3][i] = x < b ? fabs(d) * d : 2 * d * d;
        switch ((kiln_fuse_reduction)c->axis) {
        case KILN_FUSE_NO_REDUCTION: *to = y; break;
        case KILN_FUSE_SUM: *to += y; break;
        case KILN_FUSE_MEAN: *to += y / (double)reduced_count(c); break;
        case KILN_FUSE_MAX: *to = fmax(*to, y); break;
        case KILN_FUSE_MIN: *to = fmin(*to, y); break;
        }
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    static const char *const how[] = {"", " sum", " mean", " max", " min"};
    static const char *const what[] = {"ten ops", "two results", "ten plain ops"};
    int len = snprintf(out, size, "%s%s", what[c->option], how[c->axis]);
    if (c->axis)
        snprintf(out + len, size - (size_t)len, " axes %#x", (unsigned)c->alpha);
}

// For sizes drawn at random: the mean of nothing has no gradient.
static bool is_possible(const op_case *c)
{
    return c->axis != KILN_FUSE_MEAN || reduced_count(c) > 0;
}

const op_suite op_suite_fuse = {.name = "fuse",
                                .cases = cases,
                                .case_count = sizeof cases / sizeof *cases,
                                .has_backward = true,
                                .tensors = tensors,
                                .call = call,
                                .reference = reference,
                                .describe = describe,
                                .is_possible = is_possible,
                                .more = suite_fuse_more};
