// The cases of the elementwise ops (ops/suite.h). The reference is the row's own expression, run in
// double; a value from the mathematics, which each row carries, says whether the expression is
// right.
#include "ops/suite.h"
#include "ops/suite_tensors.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { // sets of types that the rows name
    INTEGERS = 1 << KILN_I32 | 1 << KILN_I8 | 1 << KILN_I64,
    TYPES_FLOATS = SUITE_FLOATS | SUITE_F64,
    TYPES_SIGNED = TYPES_FLOATS | 1 << KILN_I32,
    TYPES_NUMBERS = TYPES_SIGNED | 1 << KILN_U8,
    TYPES_ALL = TYPES_NUMBERS | 1 << KILN_BOOL,
};

enum {
#define ROW(name, ...) ROW_##name,
#include "ops/elementwise/elementwise.def"
};

// What the expressions call, in double.
#define R(x)       ((double)(x))
#define min(a, b)  fmin(a, b)
#define max(a, b)  fmax(a, b)
#define abs(a)     fabs(a)
#define rsqrt(a)   (1 / sqrt(a))
#define gelu_of(a) (0.5 * (a) * (1 + erf((a)*0.7071067811865476)))
#define gelu_slope_of(a)                                                                           \
    (0.5 * (1 + erf((a)*0.7071067811865476)) + (a)*0.3989422804014327 * exp(-0.5 * (a) * (a)))
#define exp_below(a) exp(a)
#define remainder_of(a, b)                                                                         \
    (fmod(a, b) != 0 && (fmod(a, b) < 0) != ((b) < 0) ? fmod(a, b) + (b) : fmod(a, b))
#define floor_divide_of(a, b)   floor((a) / (b))
#define over_one_plus_exp(a, b) ((a) / (1 + exp(b)))
#define ROW(name, signature, set, value, ...)                                                      \
    static double value_##name(double a, double b, double c, double p, double q)                   \
    {                                                                                              \
        (void)a, (void)b, (void)c, (void)p, (void)q;                                               \
        return value;                                                                              \
    }
#include "ops/elementwise/elementwise.def"
#undef min
#undef max
#undef abs

static const struct row {
    const char *name, *signature, *types, *derivatives[3], *summary;
    double (*value)(double a, double b, double c, double p, double q);
    double low, high, at[5], wanted;
} rows[] = {
#define ROW(name, signature, set, value, da, db, dc, low, high, a, b, c, p, q, wanted, summary)    \
    {#name,        #signature, #set, {#da, #db, #dc}, summary,                                     \
     value_##name, low,        high, {a, b, c, p, q}, wanted},
#include "ops/elementwise/elementwise.def"
};

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/elementwise/cases.def"
};

static bool is_float(kiln_type type)
{
    return type >= KILN_F16 && type != KILN_F8E4 && type != KILN_F8E5;
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    const struct row *row = &rows[c->option];
    static const char *const names[] = {"a", "b", "c"};
    uint32_t count = 0;
    for (; row->signature[count] != '_'; count++) {
        bool is_mask = row->signature[count] == 'B';
        op_tensor *t = &out[count];
        *t = (op_tensor){.name = names[count],
                         .type = is_mask ? KILN_U8 : type,
                         .rank = c->rank,
                         .low = is_mask ? 0 : row->low,
                         .high = is_mask ? 2 : row->high,
                         .is_integer = is_mask || !is_float(type),
                         .has_gradient = is_float(type) && *row->derivatives[count],
                         .tolerance = 24};
        if (t->is_integer && type != KILN_I32 && type != KILN_I8 && type != KILN_I64 && t->low < 0)
            t->low = 0;
        for (uint32_t d = 0; d < c->rank; d++)
            t->sizes[d] = c->sizes[d];
        if (c->tags & SUITE_BROADCAST && count)
            t->sizes[count == 1 ? 0 : c->rank - 1] = 1;
    }
    out[count] = out[0];
    out[count].name = "out";
    out[count].role = ROLE_OUTPUT;
    out[count].type = c->axis ? (kiln_type)c->axis : type;
    out[count].has_gradient = false;
    for (uint32_t d = 0; d < c->rank; d++)
        out[count].sizes[d] = c->sizes[d];
    return count + 1;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    uint32_t count = 0;
    while (rows[c->option].signature[count] != '_')
        count++;
    kiln_elementwise_desc forward = {
        .op = (kiln_elementwise)c->option, .out = views[count], .alpha = c->alpha, .beta = c->beta};
    kiln_elementwise_backward_desc backward = {
        .op = forward.op, .alpha = c->alpha, .beta = c->beta};
    for (uint32_t n = 0; n < count; n++) {
        forward.in[n] = backward.in[n] = views[n];
        if (pass == PASS_BACKWARD)
            backward.din[n] = views[count + 1 + n];
    }
    if (pass == PASS_FORWARD)
        return kiln_elementwise_forward(k, &forward);
    backward.dout = views[2 * count + 1];
    return kiln_elementwise_backward(k, &backward);
}

// The element of tensor `t` that the element `at` of the result belongs to.
static size_t element(const op_case *c, const op_tensor *t, size_t at)
{
    size_t index = 0, step = 1;
    for (uint32_t d = c->rank; d-- > 0;) {
        size_t here = at % c->sizes[d];
        at /= c->sizes[d];
        index += (t->sizes[d] == 1 ? 0 : here) * step;
        step *= t->sizes[d];
    }
    return index;
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    const struct row *row = &rows[c->option];
    uint32_t count = 0;
    size_t total = 1;
    while (t[count].role == ROLE_INPUT)
        count++;
    for (uint32_t d = 0; d < c->rank; d++)
        total *= c->sizes[d];
    for (size_t i = 0; i < total; i++) {
        double in[3] = {0};
        for (uint32_t n = 0; n < count; n++)
            in[n] = values[n][element(c, &t[n], i)];
        double y = row->value(in[0], in[1], in[2], c->alpha, c->beta);
        if (t[count].type == KILN_U8)
            y = (uint8_t)(int)y;
        values[count][i] = t[count].type == KILN_BOOL ? y != 0 : y;
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s%s", rows[c->option].name,
             c->tags & SUITE_BROADCAST ? " broadcast" : "", c->axis ? " to " : "",
             c->axis ? kiln_type_name((kiln_type)c->axis) : "");
}

// The value of a row on the device, or its derivative by operand slope - 1; a number that no row
// gives: the call failed.
static double value_on(kiln *k, kiln_type type, size_t row, uint32_t slope, const double *at)
{
    kiln_buffer *of[5] = {NULL}; // operands, result, the gradient that is 1
    kiln_view views[5] = {{.buffer = NULL}};
    const double values[5] = {at[0], at[1], at[2], 0, 1};
    kiln_status status = KILN_OK;
    uint8_t element[8];
    for (uint32_t n = 0; n < 5 && !status; n++) {
        if (n < 3 && n >= strcspn(rows[row].signature, "_"))
            continue;
        status = kiln_buffer_new(k, type, 1, &of[n]);
        suite_put(type, element, 0, values[n]);
        if (!status)
            status = kiln_write(of[n], 0, element, 1);
        views[n] = kiln_view_all(of[n]);
    }
    kiln_elementwise_desc d = {
        .op = (kiln_elementwise)row, .out = views[3], .alpha = at[3], .beta = at[4]};
    kiln_elementwise_backward_desc b = {
        .op = d.op, .dout = views[4], .alpha = at[3], .beta = at[4]};
    memcpy(d.in, views, sizeof d.in);
    memcpy(b.in, views, sizeof b.in);
    if (slope)
        b.din[slope - 1] = views[3];
    if (!status)
        status = slope ? kiln_elementwise_backward(k, &b) : kiln_elementwise_forward(k, &d);
    status = status ? status : kiln_read(of[3], 0, element, 1);
    for (uint32_t n = 0; n < 5; n++)
        kiln_buffer_free(of[n]);
    return status ? 0.0625 : suite_get(type, element, 0);
}

// At the ends of the functions, where a formula that is right between them may be not.
static const struct special {
    kiln_elementwise op;
    uint32_t slope; // the derivative by operand slope - 1; 0: the value
    double at[5], wanted;
} specials[] = {
    {KILN_EW_ASINH, 0, {HUGE_VAL}, HUGE_VAL},
    {KILN_EW_ASINH, 0, {-HUGE_VAL}, -HUGE_VAL},
    {KILN_EW_ASINH, 0, {-0x1p100}, -70.00786523655448},
    {KILN_EW_ACOSH, 0, {HUGE_VAL}, HUGE_VAL},
    {KILN_EW_ACOSH, 0, {0x1p127}, 88.72283911167299},
    {KILN_EW_ACOSH, 0, {0x1p31}, 22.18070977791825},
    {KILN_EW_ASINH, 1, {0x1p100}, 0x1p-100},
    {KILN_EW_DIV, 2, {0x1p90, 0x1p80}, -0x1p-70},
    {KILN_EW_DIV, 2, {0x1p-100, -0x1p-80}, -0x1p60},
    {KILN_EW_ATAN2, 1, {0, 0x1p80}, 0x1p-80},
    {KILN_EW_ATAN2, 2, {0x1p80, 0x1p80}, -0x1p-81},
    {KILN_EW_HARDSWISH, 0, {0x1p127}, 0x1p127},
    {KILN_EW_ASINH, 0, {-0x1p31}, -22.18070977791825},
    {KILN_EW_ATANH, 0, {-0x1.fffffep-1}, -8.664339742098155},
    {KILN_EW_ATANH, 0, {0x1.fffffep-1}, 8.664339742098155},
    {KILN_EW_ACOSH, 0, {0.5}, (double)NAN},
    {KILN_EW_ACOSH, 0, {-0x1p40}, (double)NAN},
    {KILN_EW_LOGADDEXP, 0, {-HUGE_VAL, -HUGE_VAL}, -HUGE_VAL},
    {KILN_EW_LOGADDEXP, 0, {-HUGE_VAL, 2}, 2},
    {KILN_EW_LOGADDEXP, 0, {HUGE_VAL, HUGE_VAL}, HUGE_VAL},
    {KILN_EW_BCE, 0, {1, 1}, 0},
    {KILN_EW_BCE, 0, {0, 0}, 0},
    {KILN_EW_BCE, 0, {0, 1}, HUGE_VAL},
    {KILN_EW_REMAINDER, 0, {0x1p40, 3}, 1},
    {KILN_EW_REMAINDER, 0, {-0x1p40, 3}, 2},
    {KILN_EW_REMAINDER, 0, {1, HUGE_VAL}, 1},
    {KILN_EW_REMAINDER, 0, {-1, HUGE_VAL}, HUGE_VAL},
    {KILN_EW_REMAINDER, 0, {1, 0}, (double)NAN},
    {KILN_EW_FLOOR_DIVIDE, 0, {1, 0x1.99999ap-4}, 9}, // the quotient rounds to 10
    {KILN_EW_FLOOR_DIVIDE, 0, {-1, HUGE_VAL}, -1},
    {KILN_EW_FLOOR_DIVIDE, 0, {1, 0}, HUGE_VAL},
    {KILN_EW_FLOOR_DIVIDE, 0, {-5.5, 2}, -3},
    {KILN_EW_HARDSIGMOID, 0, {-HUGE_VAL}, 0},
    {KILN_EW_HINGE, 0, {HUGE_VAL, 1}, 0},
    {KILN_EW_SOFTSHRINK, 0, {HUGE_VAL, 0, 0, 0.5}, HUGE_VAL},
    {KILN_EW_GELU_TANH, 0, {-0x1p15}, 0},
    {KILN_EW_GELU_TANH, 0, {0x1p15}, 0x1p15},
    {KILN_EW_POW, 1, {0, 0}, 0}, // the power is 1 everywhere
    {KILN_EW_POW, 1, {0, 1}, 1},
    {KILN_EW_POW, 1, {0, 0.5}, HUGE_VAL},
    {KILN_EW_POW, 2, {0, 2}, 0},
    {KILN_EW_POW, 2, {0, 0}, 0},
    {KILN_EW_POW, 2, {0, -1}, -HUGE_VAL},
    {KILN_EW_POW, 2, {-2, 2}, (double)NAN},
    {KILN_EW_HYPOT, 1, {0, 0}, 0}, // as the norm of zeros (ops/reduce)
    {KILN_EW_HYPOT, 2, {0, 0}, 0},
    {KILN_EW_HYPOT, 2, {0, -3}, -1},
    {KILN_EW_XLOGY, 2, {0, 0}, 0}, // 0 whatever b is
};

// A NaN as the first operand of a row of floats gives a NaN, but where the row says otherwise.
static bool keeps_nan(size_t row)
{
    return row != KILN_EW_MIN && row != KILN_EW_MAX && row != KILN_EW_WHERE &&
           row != KILN_EW_QUANTISE_I8 && row != KILN_EW_QUANTISE_U8 &&
           rows[row].signature[strlen(rows[row].signature) - 1] == 'T';
}

static int test_specials(kiln *k, int *passed)
{
    static const kiln_type types[] = {KILN_F32, KILN_F64, KILN_BF16, KILN_F16};
    int failed = 0;
    for (size_t n = 0; n < sizeof specials / sizeof *specials; n++)
        for (size_t t = 0; t < 4; t++) {
            const struct special *s = &specials[n];
            double a = s->at[0], got, tolerance = types[t] == KILN_F64 ? 1e-13 : 1e-5;
            bool is_known = types[t] == KILN_F32 || t == 1 || // others: where they have the numbers
                            (isinf(s->wanted) && fabs(a) != 1) || s->op == KILN_EW_GELU_TANH ||
                            s->op == KILN_EW_BCE;
            if (!is_known)
                continue;
            got = value_on(k, types[t], s->op, s->slope, s->at);
            bool is_right = isnan(s->wanted) ? isnan(got)
                            : isinf(s->wanted)
                                ? got == s->wanted
                                : fabs(got - s->wanted) <= tolerance * fabs(s->wanted);
            if (!is_right)
                printf("elementwise: %s%s of %g, %g (%s) is %.17g, not %.17g\n", rows[s->op].name,
                       s->slope == 2   ? ", derivative by b,"
                       : s->slope == 1 ? ", derivative by a,"
                                       : "",
                       a, s->at[1], kiln_type_name(types[t]), got, s->wanted);
            *passed += is_right;
            failed += !is_right;
        }
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        for (size_t t = 0; t < 4 && keeps_nan(n); t++) {
            double at[5];
            memcpy(at, rows[n].at, sizeof at);
            at[0] = (double)NAN;
            bool is_right = isnan(value_on(k, types[t], n, 0, at));
            if (!is_right)
                printf("elementwise: %s loses a NaN (%s)\n", rows[n].name,
                       kiln_type_name(types[t]));
            *passed += is_right;
            failed += !is_right;
        }
    return failed;
}

// alpha and beta are numbers of all integers, also of those that a double does not count one by
// one.
static int test_bounds(kiln *k, int *passed)
{
    static const struct {
        kiln_type type;
        double at[5], wanted;
    } bounds[] = {{KILN_I64, {0x1p62, 0, 0, 0, HUGE_VAL}, 0x1p62},
                  {KILN_I64, {-0x1p63, 0, 0, -HUGE_VAL, 0}, -0x1p63},
                  {KILN_I64, {-0x1p62, 0, 0, -0x1p61, 0}, -0x1p61},
                  {KILN_U64, {0x1p63, 0, 0, 0, HUGE_VAL}, 0x1p63},
                  {KILN_I32, {0x1p30, 0, 0, -HUGE_VAL, HUGE_VAL}, 0x1p30}};
    int failed = 0;
    for (size_t n = 0; n < sizeof bounds / sizeof *bounds; n++) {
        double got = value_on(k, bounds[n].type, KILN_EW_CLAMP, 0, bounds[n].at);
        bool is_right = got == bounds[n].wanted;
        if (!is_right)
            printf("elementwise: %g (%s) within %g and %g is %g\n", bounds[n].at[0],
                   kiln_type_name(bounds[n].type), bounds[n].at[3], bounds[n].at[4], got);
        *passed += is_right;
        failed += !is_right;
    }
    return failed;
}

// Operands of very different magnitudes: what f32 can hold is not lost on the way, as a square
// would be. The same row in f64 says what it is.
enum { MAGNITUDES = 26, PAIRS = MAGNITUDES * MAGNITUDES };

static kiln_status spread_on(kiln *k, kiln_type type, size_t row, uint32_t slope, double *out)
{
    static const double magnitudes[] = {0x1p-110, 0x1p-90, 0x1p-75, 0x1p-66, 0x1p-40, 0x1p-20, 0.5,
                                        1,        3,       0x1p20,  0x1p66,  0x1p100, 0x1p125};
    kiln_buffer *of[5] = {NULL}; // operands, result, the gradient that is 1
    kiln_view views[5] = {{.buffer = NULL}};
    double *elements = calloc(PAIRS, sizeof *elements);
    kiln_status status = elements ? KILN_OK : KILN_E_NO_MEMORY;
    for (uint32_t n = 0; n < 5 && !status; n++) {
        if (n < 3 && n >= strcspn(rows[row].signature, "_"))
            continue;
        for (uint32_t i = 0; i < PAIRS; i++) {
            uint32_t at = n == 1 ? i / MAGNITUDES : i % MAGNITUDES;
            double x = at % 2 ? -magnitudes[at / 2] : magnitudes[at / 2];
            suite_put(type, elements, i, n == 4 ? 1 : n == 2 ? 0.25 : x);
        }
        status = kiln_buffer_new(k, type, PAIRS, &of[n]);
        status = status ? status : kiln_write(of[n], 0, elements, PAIRS);
        views[n] = kiln_view_all(of[n]);
    }
    kiln_elementwise_desc d = {
        .op = (kiln_elementwise)row, .out = views[3], .alpha = 1.5, .beta = 2};
    kiln_elementwise_backward_desc b = {
        .op = d.op, .dout = views[4], .alpha = d.alpha, .beta = d.beta};
    memcpy(d.in, views, sizeof d.in);
    memcpy(b.in, views, sizeof b.in);
    if (slope)
        b.din[slope - 1] = views[3];
    if (!status)
        status = slope ? kiln_elementwise_backward(k, &b) : kiln_elementwise_forward(k, &d);
    status = status ? status : kiln_read(of[3], 0, elements, PAIRS);
    for (uint32_t i = 0; i < PAIRS && !status; i++)
        out[i] = suite_get(type, elements, i);
    for (uint32_t n = 0; n < 5; n++)
        kiln_buffer_free(of[n]);
    free(elements);
    return status;
}

static int test_magnitudes(kiln *k, int *passed)
{
    static double narrow[PAIRS], wide[PAIRS];
    int failed = 0;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (uint32_t slope = 0; slope < 4; slope++) {
            if (strspn(rows[row].signature, "T_") != strlen(rows[row].signature) ||
                (slope && !*rows[row].derivatives[slope - 1]))
                continue;
            bool is_right = !spread_on(k, KILN_F32, row, slope, narrow) &&
                            !spread_on(k, KILN_F64, row, slope, wide);
            for (uint32_t i = 0; i < PAIRS && is_right; i++) {
                bool is_lost = !isfinite(narrow[i]) && fabs(wide[i]) < 0x1p126;
                if (is_lost)
                    printf("elementwise: %s, derivative %u, is %g in f32 at pair %u, %g in f64\n",
                           rows[row].name, slope, narrow[i], i, wide[i]);
                is_right = !is_lost;
            }
            *passed += is_right;
            failed += !is_right;
        }
    return failed;
}

// The expressions are what their names say.
static int more(kiln *k, int *passed)
{
    int failed = test_specials(k, passed) + test_bounds(k, passed) + test_magnitudes(k, passed);
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        const double *x = rows[n].at;
        double got = rows[n].value(x[0], x[1], x[2], x[3], x[4]);
        bool is_right = fabs(got - rows[n].wanted) <= 1e-13 * (1 + fabs(rows[n].wanted));
        if (!is_right)
            printf("elementwise.def: %s is %.17g, not %.17g\n", rows[n].name, got, rows[n].wanted);
        *passed += is_right;
        failed += !is_right;
    }
    return failed;
}

static void print_rows(FILE *out)
{
    fprintf(out,
            "Operands of the op's type are written T, masks B. Types: FLOATS; SIGNED: and signed "
            "integers; NUMBERS: and unsigned ones; ALL: and bool.\n\n"
            "| `KILN_EW_…` | operands → result | types | gradients | value |\n"
            "|---|---|---|---|---|\n");
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        const struct row *r = &rows[n];
        const char *result = strchr(r->signature, '_');
        fprintf(out, "| ");
        for (const char *c = r->name; *c; c++)
            fputc(toupper((unsigned char)*c), out);
        fprintf(out, " | ");
        for (const char *c = r->signature; c < result; c++)
            fprintf(out, "%s%c", c > r->signature ? ", " : "", *c);
        fprintf(out, " → %s | %s | %s%s%s | ", result + 1, r->types, *r->derivatives[0] ? "a" : "",
                *r->derivatives[1] ? *r->derivatives[0] ? ", b" : "b" : "",
                *r->derivatives[2] ? ", c" : "");
        for (const char *c = r->summary; *c; c++)
            fprintf(out, *c == '|' ? "\\%c" : "%c", *c);
        fprintf(out, " |\n");
    }
}

const op_suite op_suite_elementwise = {.name = "elementwise",
                                       .cases = cases,
                                       .case_count = sizeof cases / sizeof *cases,
                                       .has_backward = true,
                                       .tensors = tensors,
                                       .call = call,
                                       .reference = reference,
                                       .describe = describe,
                                       .rows = print_rows,
                                       .more = more};
