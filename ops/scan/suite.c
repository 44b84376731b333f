// The cases of the scans (ops/suite.h). Tensors: x, out, the workspace.
#include "ops/suite.h"

#include <math.h>

enum { OP = 3, EXCLUSIVE = 4, REVERSE = 8 };
enum { X, OUT, WORK, TENSORS };
enum { INTEGERS = 1 << KILN_I8 | 1 << KILN_U8 | 1 << KILN_I32 | 1 << KILN_I64 };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/scan/cases.def"
};

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    bool is_float = type == KILN_F32 || type == KILN_F16 || type == KILN_BF16 || type == KILN_F64;
    uint64_t count = 1;
    out[X] = (op_tensor){.name = "x",
                         .type = type,
                         .rank = c->rank,
                         .low = type == KILN_U8 ? 0 : -1,
                         .high = 2,
                         .is_integer = !is_float,
                         .has_gradient = is_float,
                         .tolerance = 64};
    if ((c->option & OP) == KILN_SCAN_PROD) {
        out[X].low = is_float ? 0.9 : 1;
        out[X].high = is_float ? 1.1 : 1.5;
    }
    for (uint32_t n = 0; n < c->rank; n++) {
        out[X].sizes[n] = c->sizes[n];
        count *= c->sizes[n];
    }
    out[OUT] = out[X];
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[OUT].has_gradient = false;
    if (c->beta > 0)
        out[OUT].type = (kiln_type)c->beta;
    out[WORK] = (op_tensor){.name = "workspace",
                            .role = ROLE_SCRATCH,
                            .type = KILN_F64,
                            .rank = 1,
                            .sizes = {1056 + count / 32}};
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    if (pass == PASS_BACKWARD && !views[TENSORS + X].buffer) // of integers
        return KILN_OK;
    kiln_scan_desc d = {.op = (kiln_scan)(c->option & OP),
                        .x = pass == PASS_FORWARD ? views[X] : views[TENSORS + OUT],
                        .out = pass == PASS_FORWARD ? views[OUT] : views[TENSORS + X],
                        .axis = c->axis,
                        .is_exclusive = c->option & EXCLUSIVE,
                        .is_reverse = c->option & REVERSE,
                        .workspace = views[WORK]};
    return pass == PASS_FORWARD ? kiln_scan_forward(k, &d) : kiln_scan_backward(k, &d);
}

// Of no elements the largest is the lowest number of the type, and the other way round.
static double end_of(kiln_type type, bool is_highest)
{
    switch (type) {
    case KILN_BOOL: return is_highest;
    case KILN_I8: return is_highest ? INT8_MAX : INT8_MIN;
    case KILN_U8: return is_highest ? UINT8_MAX : 0;
    case KILN_I32: return is_highest ? INT32_MAX : INT32_MIN;
    default: return is_highest ? HUGE_VAL : -HUGE_VAL;
    }
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t outer = 1, step = 1, size = (size_t)c->sizes[c->axis];
    uint32_t op = c->option & OP;
    for (uint32_t n = 0; n < c->rank; n++)
        *(n < c->axis ? &outer : n > c->axis ? &step : &(size_t){0}) *= (size_t)c->sizes[n];
    for (size_t row = 0; row < outer * step; row++) {
        double value = op == KILN_SCAN_SUM    ? 0
                       : op == KILN_SCAN_PROD ? 1
                                              : end_of(t[X].type, op == KILN_SCAN_MIN);
        for (size_t n = 0; n < size; n++) {
            size_t i = c->option & REVERSE ? size - 1 - n : n;
            size_t at = row / step * size * step + row % step + i * step;
            double x = values[X][at], before = value;
            value = op == KILN_SCAN_SUM    ? value + x
                    : op == KILN_SCAN_PROD ? value * x
                    : op == KILN_SCAN_MAX  ? fmax(value, x)
                                           : fmin(value, x);
            values[OUT][at] = c->option & EXCLUSIVE ? before : value;
            if (t[OUT].type == KILN_I8)
                values[OUT][at] = (int8_t)(int)values[OUT][at];
            if (t[OUT].type == KILN_U8)
                values[OUT][at] = (uint8_t)(int)values[OUT][at];
            if (t[OUT].type == KILN_BOOL)
                values[OUT][at] = values[OUT][at] != 0;
        }
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    static const char *const names[] = {"sum", "prod", "max", "min"};
    snprintf(out, size, "%s axis %u%s%s%s", names[c->option & OP], c->axis,
             c->option & EXCLUSIVE ? " exclusive" : "", c->option & REVERSE ? " reverse" : "",
             c->beta == KILN_I64    ? " to i64"
             : c->beta == KILN_F32  ? " to f32"
             : c->beta == KILN_BOOL ? " to bool"
                                    : "");
}

static int more(kiln *k, int *passed)
{
    const float x[4] = {1, NAN, 3, 2};
    float out[4] = {0};
    kiln_buffer *b = NULL;
    bool is_right = !kiln_buffer_new(k, KILN_F32, 4, &b) && !kiln_write(b, 0, x, 4);
    kiln_scan_desc d = {
        .op = KILN_SCAN_MAX, .x = KILN_VIEW(b, 4), .out = KILN_VIEW(b, 4), .axis = 0};
    is_right = is_right && !kiln_scan_forward(k, &d) && !kiln_read(b, 0, out, 4) && out[0] == 1 &&
               isnan(out[1]) && isnan(out[2]) && isnan(out[3]) &&
               kiln_scan_backward(k, &d) == KILN_E_BAD_ARGUMENT;
    uint64_t bytes = 1;
    is_right = is_right && !kiln_scan_workspace(k, &d, &bytes) && !bytes; // in place, too
    d.axis = 1;
    is_right = is_right && kiln_scan_forward(k, &d) == KILN_E_BAD_ARGUMENT;
    if (!is_right)
        printf("scan: NaN does not stay, or a call is refused wrongly, or not refused\n");
    kiln_buffer_free(b);
    *passed += is_right;
    return !is_right;
}

const op_suite op_suite_scan = {.name = "scan",
                                .cases = cases,
                                .case_count = sizeof cases / sizeof *cases,
                                .has_backward = true,
                                .tensors = tensors,
                                .call = call,
                                .reference = reference,
                                .describe = describe,
                                .more = more};
