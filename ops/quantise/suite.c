// The cases of quantised numbers (ops/suite.h). Scales are powers of two: quotients are exact.
#include "ops/suite.h"

#include <math.h>

enum { BACK = 1, UNSIGNED = 2, ZERO = 4, ROWS = 8 };
enum { X, SCALE, POINT, OUT, TENSORS };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/quantise/cases.def"
};

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    bool is_back = c->option & BACK, is_unsigned = c->option & UNSIGNED;
    kiln_type narrow = is_unsigned ? KILN_U8 : KILN_I8;
    out[X] = (op_tensor){.name = "x",
                         .type = is_back ? narrow : type,
                         .rank = 2,
                         .sizes = {c->sizes[0], c->sizes[1]},
                         .low = is_back ? (is_unsigned ? 0 : -128) : -100,
                         .high = is_back ? (is_unsigned ? 255 : 127) : 100,
                         .is_integer = is_back,
                         .tolerance = 2};
    out[OUT] = out[X];
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[OUT].type = is_back ? type : narrow;
    out[SCALE] = (op_tensor){.name = "scale",
                             .type = KILN_F32,
                             .rank = 2,
                             .sizes = {c->option & ROWS ? c->sizes[0] : 1, 1},
                             .low = 0.5,
                             .high = 0.5};
    out[POINT] = (op_tensor){.name = "zero",
                             .type = narrow,
                             .rank = 2,
                             .sizes = {1, 1},
                             .low = is_unsigned ? 100 : -10,
                             .high = is_unsigned ? 140 : 20,
                             .is_integer = true};
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_quantise_desc d = {.x = views[X], .scale = views[SCALE], .out = views[OUT]};
    (void)pass;
    if (c->option & ZERO)
        d.zero = views[POINT];
    return c->option & BACK ? kiln_dequantise(k, &d) : kiln_quantise(k, &d);
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    double low = c->option & UNSIGNED ? 0 : -128, high = c->option & UNSIGNED ? 255 : 127;
    (void)t;
    for (size_t i = 0; i < c->sizes[0] * c->sizes[1]; i++) {
        double scale = values[SCALE][c->option & ROWS ? i / c->sizes[1] : 0];
        double zero = c->option & ZERO ? values[POINT][0] : 0, x = values[X][i];
        values[OUT][i] = c->option & BACK ? (x - zero) * scale
                                          : fmin(fmax(nearbyint(x / scale) + zero, low), high);
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "%s %s%s%s", c->option & BACK ? "from" : "to",
             c->option & UNSIGNED ? "u8" : "i8", c->option & ZERO ? " zero" : "",
             c->option & ROWS ? " rows" : "");
}

// Quotients near ties, and numbers and scales that are special: as a division gives them. point:
// the zero point of u8; 0: i8 without one.
static int special(kiln *k, uint8_t point)
{
    enum { SCALES = 20, COLUMNS = 512 };
    static const float scales[SCALES] = {
        0.1f,          -0.3f,    1,         3,     7e-3f,         1e-44f,
        1e-38f,        1e-20f,   1e20f,     3e38f, -1e-30f,       0,
        -0.0f,         INFINITY, -INFINITY, NAN,   0x1.fffffep0f, 0x1.fffffcp-3f,
        0x1.000002p0f, 0x1p60f};
    static const float some[] = {0,      -0.0f,   INFINITY, -INFINITY, NAN,
                                 1e-45f, -1e-45f, 3e38f,    -3e38f};
    enum { SOME = sizeof some / sizeof *some };
    static float x[SCALES * COLUMNS];
    static uint8_t out[SCALES * COLUMNS];
    const kiln_type type = point ? KILN_U8 : KILN_I8;
    const float least = point ? 0 : -128, most = point ? 255 : 127;
    kiln_buffer *from = NULL, *scale = NULL, *zero = NULL, *to = NULL;
    for (int i = 0; i < SCALES * COLUMNS; i++) {
        int column = i % COLUMNS;
        float tie = ((float)(column / 3) - 83.5f) * scales[i / COLUMNS]; // and its neighbours
        float next = nextafterf(tie, column % 3 ? INFINITY : -INFINITY);
        x[i] = column < SOME ? some[column] : column % 3 == 1 ? tie : next;
    }
    bool is_right = !kiln_buffer_new(k, KILN_F32, SCALES * COLUMNS, &from) &&
                    !kiln_write(from, 0, x, SCALES * COLUMNS) &&
                    !kiln_buffer_new(k, KILN_F32, SCALES, &scale) &&
                    !kiln_write(scale, 0, scales, SCALES) && !kiln_buffer_new(k, type, 1, &zero) &&
                    !kiln_write(zero, 0, &point, 1) &&
                    !kiln_buffer_new(k, type, SCALES * COLUMNS, &to);
    kiln_quantise_desc d = {.x = KILN_VIEW(from, SCALES, COLUMNS),
                            .scale = KILN_VIEW(scale, SCALES, 1),
                            .out = KILN_VIEW(to, SCALES, COLUMNS)};
    if (point)
        d.zero = KILN_VIEW(zero, 1, 1);
    is_right = is_right && !kiln_quantise(k, &d) && !kiln_read(to, 0, out, SCALES * COLUMNS);
    for (int i = 0; i < SCALES * COLUMNS && is_right; i++) {
        float quotient = x[i] / scales[i / COLUMNS]; // of a NaN the least
        float want =
            isnan(quotient) ? least : fminf(fmaxf(rintf(quotient) + (float)point, least), most);
        int is = point ? out[i] : (int8_t)out[i];
        is_right = (float)is == want;
        if (!is_right)
            printf("quantise: %a / %a is %d\n", (double)x[i], (double)scales[i / COLUMNS], is);
    }
    kiln_buffer_free(from);
    kiln_buffer_free(scale);
    kiln_buffer_free(zero);
    kiln_buffer_free(to);
    return !is_right;
}

static int more(kiln *k, int *passed)
{
    int failed = special(k, 0) + special(k, 131);
    *passed += 2 - failed;
    return failed;
}

const op_suite op_suite_quantise = {.name = "quantise",
                                    .cases = cases,
                                    .case_count = sizeof cases / sizeof *cases,
                                    .tensors = tensors,
                                    .call = call,
                                    .reference = reference,
                                    .describe = describe,
                                    .more = more};
