// The cases of the reductions (ops/suite.h). Tensors: x, out, the workspace.
#include "ops/suite.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

enum { X, OUT, WORK, TENSORS };
enum {
    INTEGERS = 1 << KILN_I8 | 1 << KILN_U8 | 1 << KILN_I32 | 1 << KILN_I64 | 1 << KILN_BOOL,
    TYPES_FLOATS = SUITE_FLOATS,
    TYPES_ALL = SUITE_FLOATS | 1 << KILN_I32,
};

#define ROW(name, ...) ROW_##name,
enum {
#include "ops/reduce/reduce.def"
};

static const char *const names[] = {
#define ROW(name, ...) #name,
#include "ops/reduce/reduce.def"
};

static const struct {
    const char *types, *what;
    bool has_gradient;
} facts[] = {
#define ROW(name, types, kind, first, second, operands, derivative, what)                          \
    {#types, what, operands[0] != 0},
#include "ops/reduce/reduce.def"
};

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/reduce/cases.def"
};

static uint32_t axes_of(const op_case *c)
{
    return c->axis ? c->axis : (1u << c->rank) - 1;
}

static bool is_index(const op_case *c)
{
    return c->option == ROW_argmax || c->option == ROW_argmin;
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    bool is_float = type == KILN_F32 || type == KILN_F16 || type == KILN_BF16 || type == KILN_F64;
    uint64_t results = 1, count = 1;
    out[X] = (op_tensor){.name = "x",
                         .type = type,
                         .rank = c->rank,
                         .low = -2,
                         .high = 3,
                         .is_integer = !is_float,
                         .has_gradient = is_float,
                         .tolerance = 64};
    if (c->option == ROW_prod) { // products of many stay small, with zeros among their factors
        out[X].low = 0;
        out[X].high = 3;
        out[X].is_integer = true;
    }
    if (c->option == ROW_norm && c->alpha == 1)
        out[X].low = 0.5; // away from the edge
    if (is_index(c) || c->option == ROW_any || c->option == ROW_all || c->option == ROW_count)
        out[X].is_integer = true; // equal ones, and zeros
    if (is_index(c) || c->option == ROW_any || c->option == ROW_all || c->option == ROW_count)
        out[X].has_gradient = false;
    if (type == KILN_U8 || type == KILN_BOOL)
        out[X].low = 0;
    out[OUT] = out[X];
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[OUT].has_gradient = false;
    if (c->beta > 0 || is_index(c))
        out[OUT].type = c->beta > 0 ? (kiln_type)c->beta : KILN_I64;
    if (out[OUT].type == KILN_F64 && type != KILN_F64)
        out[OUT].tolerance *= 0x1p29; // of an f32
    out[OUT].rank = 0;
    for (uint32_t d = 0; d < c->rank; d++) {
        out[X].sizes[d] = c->sizes[d];
        count *= c->sizes[d];
        if (axes_of(c) >> d & 1)
            continue;
        out[OUT].sizes[out[OUT].rank++] = c->sizes[d];
        results *= c->sizes[d];
    }
    uint64_t bytes = 24 * (1056 + count / 32 + results) + 16 * results;
    out[WORK] = (op_tensor){.name = "workspace",
                            .role = ROLE_SCRATCH,
                            .type = KILN_F64,
                            .rank = 1,
                            .sizes = {bytes / 8}};
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    if (pass == PASS_FORWARD)
        return kiln_reduce_forward(k, &(kiln_reduce_desc){.op = (kiln_reduction)c->option,
                                                          .x = views[X],
                                                          .out = views[OUT],
                                                          .axes = c->axis,
                                                          .alpha = c->alpha,
                                                          .workspace = views[WORK]});
    if (!views[TENSORS + X].buffer) // no derivative
        return KILN_OK;
    return kiln_reduce_backward(k, &(kiln_reduce_backward_desc){.op = (kiln_reduction)c->option,
                                                                .x = views[X],
                                                                .out = views[OUT],
                                                                .dout = views[TENSORS + OUT],
                                                                .dx = views[TENSORS + X],
                                                                .axes = c->axis,
                                                                .alpha = c->alpha,
                                                                .workspace = views[WORK]});
}

// The mathematics of one result: n numbers.
static double result_of(const op_case *c, const double *x, size_t n)
{
    double sum = 0, product = 1, largest = -HUGE_VAL, smallest = HUGE_VAL, nonzero = 0,
           at_most = -1, at_least = -1;
    double power = c->alpha > 0 ? c->alpha : 2, powers = 0, squares = 0, exponentials = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        product *= x[i];
        nonzero += x[i] != 0;
        powers += pow(fabs(x[i]), power);
        at_most = x[i] > largest ? (double)i : at_most;
        at_least = x[i] < smallest ? (double)i : at_least;
        largest = fmax(largest, x[i]);
        smallest = fmin(smallest, x[i]);
    }
    for (size_t i = 0; i < n; i++) {
        squares += pow(x[i] - sum / (double)n, 2);
        exponentials += exp(x[i] - largest);
    }
    double variance = squares / ((double)n - c->alpha);
    const double results[] = {[ROW_sum] = sum,
                              [ROW_mean] = sum / (double)n,
                              [ROW_prod] = product,
                              [ROW_max] = largest,
                              [ROW_min] = smallest,
                              [ROW_any] = nonzero > 0,
                              [ROW_all] = nonzero == (double)n,
                              [ROW_count] = nonzero,
                              [ROW_norm] = pow(powers, 1 / power),
                              [ROW_variance] = variance,
                              [ROW_deviation] = sqrt(variance),
                              [ROW_argmax] = at_most,
                              [ROW_argmin] = at_least,
                              [ROW_logsumexp] = n ? largest + log(exponentials) : -HUGE_VAL};
    return results[c->option];
}

// What a type has in the place of infinity and NaN: integers have their last numbers, and 0.
static double ended(kiln_type type, double y)
{
    if (isfinite(y) || type >= KILN_F16 || type <= KILN_BOOL)
        return y;
    if (isnan(y))
        return 0;
    uint32_t bits = 8u << ((uint32_t)(type - KILN_I8) >> 1);
    bool is_signed = (type - KILN_I8) % 2 == 0;
    if (y < 0)
        return is_signed ? -ldexp(1, (int)bits - 1) : 0;
    return ldexp(1, (int)bits - is_signed) - 1;
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t count = 1, results = 1, n = 1;
    for (uint32_t d = 0; d < c->rank; d++) {
        count *= c->sizes[d];
        *(axes_of(c) >> d & 1 ? &n : &results) *= c->sizes[d];
    }
    double *sorted = calloc(count + 1, sizeof *sorted); // [results][n]
    if (!sorted)
        abort();
    for (size_t i = 0; i < count; i++) {
        size_t rest = i, result = 0, at = 0, result_step = 1, at_step = 1;
        for (uint32_t d = c->rank; d-- > 0;) {
            bool is_reduced = axes_of(c) >> d & 1;
            *(is_reduced ? &at : &result) +=
                rest % c->sizes[d] * (is_reduced ? at_step : result_step);
            *(is_reduced ? &at_step : &result_step) *= c->sizes[d];
            rest /= c->sizes[d];
        }
        sorted[result * n + at] = values[X][i];
    }
    for (size_t r = 0; r < results; r++) {
        double y = result_of(c, sorted + r * n, n);
        values[OUT][r] = t[OUT].type == KILN_BOOL ? y != 0
                         : t[OUT].type < KILN_F16 ? trunc(ended(t[X].type, y))
                                                  : y;
    }
    free(sorted);
}

static void describe(const op_case *c, char *out, size_t size)
{
    static const char *const types[] = {"",    "bool", "i8",  "u8",   "i16",  "u16",  "i32", "u32",
                                        "i64", "u64",  "f16", "bf16", "f8e4", "f8e5", "f32", "f64"};
    int len = snprintf(out, size, "%s axes", names[c->option]);
    for (uint32_t d = 0; d < c->rank; d++)
        if (axes_of(c) >> d & 1)
            len += snprintf(out + len, size - (size_t)len, " %u", d);
    if (c->alpha > 0)
        len += snprintf(out + len, size - (size_t)len, " alpha %g", c->alpha);
    if (c->beta > 0)
        snprintf(out + len, size - (size_t)len, " to %s", types[(int)c->beta]);
}

// --- tests that are not cases
typedef struct row {
    const char *what;
    kiln_reduction op;
    float x[8];
    double wanted; // NaN: NaN
} row;

static const row rows[] = {
    {"the largest with a NaN", KILN_REDUCE_MAX, {1, NAN, 7, 2, 3, 4, 5, 6}, (double)NAN},
    {"the smallest with a NaN", KILN_REDUCE_MIN, {1, 2, 7, 2, 3, 4, 5, NAN}, (double)NAN},
    {"where the NaN is", KILN_REDUCE_ARGMAX, {1, 9, NAN, 2, NAN, 4, 5, 6}, 2},
    {"where the NaN is", KILN_REDUCE_ARGMIN, {1, 9, 3, 2, NAN, -4, NAN, 6}, 4},
    {"the first of two zeros", KILN_REDUCE_ARGMAX, {-1, -0.0f, 0, -2, 0, -4, -5, -6}, 1},
    {"a NaN is not 0", KILN_REDUCE_COUNT, {0, NAN, 0, 0, 1, 0, 0, 0}, 2},
    {"infinity", KILN_REDUCE_LOGSUMEXP, {0, 1, INFINITY, 0, 1, 0, 0, 0}, HUGE_VAL},
    {"a part without weight",
     KILN_REDUCE_LOGSUMEXP,
     {-INFINITY, 0, -INFINITY, -INFINITY},
     1.6094379},
    {"an offset", KILN_REDUCE_VARIANCE, {4097, 4099, 4097, 4099, 4097, 4099, 4097, 4099}, 1},
};

static int test_row(kiln *k, const row *r)
{
    kiln_buffer *x = NULL, *out = NULL;
    double got = 0;
    bool is_index = r->op == KILN_REDUCE_ARGMAX || r->op == KILN_REDUCE_ARGMIN;
    int64_t at = 0;
    kiln_status status = kiln_buffer_new(k, KILN_F32, 8, &x);
    if (!status)
        status = kiln_write(x, 0, r->x, 8);
    if (!status)
        status = kiln_buffer_new(k, is_index ? KILN_I64 : KILN_F64, 1, &out);
    if (!status)
        status = kiln_reduce_forward(
            k, &(kiln_reduce_desc){
                   .op = r->op, .x = KILN_VIEW(x, 8), .out = KILN_VIEW(out, 1), .axes = 1});
    if (!status)
        status = kiln_read(out, 0, is_index ? (void *)&at : (void *)&got, 1);
    got = is_index ? (double)at : got;
    kiln_buffer_free(x);
    kiln_buffer_free(out);
    bool is_right = !status && (isnan(r->wanted)   ? isnan(got)
                                : isinf(r->wanted) ? got == r->wanted
                                                   : fabs(got - r->wanted) < 1e-6);
    if (!is_right)
        printf("reduce: %s is %g, not %g %s\n", r->what, got, r->wanted,
               status ? kiln_last_error(k)->text : "");
    return !is_right;
}

// Integers whose sum has no 64 bits have a mean all the same.
static int test_large_mean(kiln *k, int *passed)
{
    static const int64_t x[4] = {INT64_MAX, INT64_MAX, INT64_MAX, 1};
    static const kiln_type types[] = {KILN_I64, KILN_U64};
    int failed = 0;
    for (size_t n = 0; n < 2; n++) {
        kiln_buffer *in = NULL, *out = NULL;
        double got = 0, wanted = 0x1.8p62;
        bool is_right = !kiln_buffer_new(k, types[n], 4, &in) && !kiln_write(in, 0, x, 4) &&
                        !kiln_buffer_new(k, KILN_F64, 1, &out) &&
                        !kiln_reduce_forward(k, &(kiln_reduce_desc){.op = KILN_REDUCE_MEAN,
                                                                    .x = KILN_VIEW(in, 4),
                                                                    .out = KILN_VIEW(out, 1)}) &&
                        !kiln_read(out, 0, &got, 1) && got == wanted;
        if (!is_right)
            printf("reduce: a mean of large %s is %g, not %g\n", kiln_type_name(types[n]), got,
                   wanted);
        kiln_buffer_free(in);
        kiln_buffer_free(out);
        *passed += is_right;
        failed += !is_right;
    }
    return failed;
}

// What a wrong call says.
static int test_refusals(kiln *k, int *passed)
{
    kiln_buffer *x = NULL;
    int failed = 0;
    if (kiln_buffer_new(k, KILN_I32, 64, &x))
        return 1;
    kiln_view v = KILN_VIEW(x, 4, 8), small = kiln_view_index(v, 1, 0);
    small.first = 40;
    const kiln_reduce_desc wrong[] = {
        {.op = KILN_REDUCE_NORM, .x = v, .out = small, .axes = 2},                   // of integers
        {.op = KILN_REDUCE_SUM, .x = v, .out = small, .axes = 1},                    // other sizes
        {.op = KILN_REDUCE_SUM, .x = v, .out = small, .axes = 4},                    // no such axis
        {.op = (kiln_reduction)99, .x = v, .out = small, .axes = 2},                 // no such op
        {.op = KILN_REDUCE_SUM, .x = v, .out = kiln_view_index(v, 1, 0), .axes = 2}, // overlaps
    };
    for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
        uint64_t bytes;
        bool is_refused = kiln_reduce_forward(k, &wrong[n]) != KILN_OK &&
                          kiln_reduce_workspace(k, &wrong[n], &bytes) != KILN_OK;
        if (!is_refused)
            printf("reduce: wrong call %zu is not refused\n", n);
        failed += !is_refused;
        *passed += is_refused;
    }
    kiln_buffer_free(x);
    return failed;
}

static void print_rows(FILE *out)
{
    fprintf(out, "Types: FLOATS; ALL: and integers and bool.\n\n"
                 "| `KILN_REDUCE_…` | result | types | gradient |\n|---|---|---|---|\n");
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        fprintf(out, "| ");
        for (const char *c = names[n]; *c; c++)
            fputc(toupper((unsigned char)*c), out);
        fprintf(out, " | ");
        for (const char *c = facts[n].what; *c; c++)
            fprintf(out, *c == '|' ? "\\%c" : "%c", *c);
        fprintf(out, " | %s | %s |\n", facts[n].types, facts[n].has_gradient ? "`x`" : "");
    }
}

static int more(kiln *k, int *passed)
{
    int failed = 0;
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        int is_wrong = test_row(k, &rows[n]);
        failed += is_wrong;
        *passed += !is_wrong;
    }
    return failed + test_large_mean(k, passed) + test_refusals(k, passed);
}

const op_suite op_suite_reduce = {.name = "reduce",
                                  .cases = cases,
                                  .case_count = sizeof cases / sizeof *cases,
                                  .has_backward = true,
                                  .tensors = tensors,
                                  .call = call,
                                  .reference = reference,
                                  .describe = describe,
                                  .rows = print_rows,
                                  .more = more};
