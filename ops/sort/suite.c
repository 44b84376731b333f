// The cases of sort and top-k (ops/suite.h). Tensors: x, values, out, index, values_out, the
// workspace.
#include "ops/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DESCENDING = 1, TOPK = 2, SMALLEST = 4, VALUES = 8, I32 = 16, TIES = 32, KEYS = 64 };
enum { X, VALUE, OUT, INDEX, TO_VALUE, WORK, TENSORS };
enum {
    ALL_TYPES = SUITE_FLOATS | SUITE_F64 | 1 << KILN_I8 | 1 << KILN_U8 | 1 << KILN_I16 |
                1 << KILN_I32 | 1 << KILN_U32 | 1 << KILN_I64 | 1 << KILN_BOOL
};

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/sort/cases.def"
};

static uint64_t results_of(const op_case *c)
{
    return c->option & TOPK && c->alpha < (double)c->sizes[c->axis] ? (uint64_t)c->alpha
                                                                    : c->sizes[c->axis];
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    bool is_float = type == KILN_F32 || type == KILN_F16 || type == KILN_BF16 || type == KILN_F64;
    bool is_unsigned = type == KILN_U8 || type == KILN_U32 || type == KILN_BOOL;
    uint64_t count = 1, size = c->rank ? c->sizes[c->axis] : 1;
    out[X] = (op_tensor){.name = "x",
                         .type = type,
                         .rank = c->rank,
                         .low = is_unsigned ? 0 : -100,
                         .high = type == KILN_BOOL ? 2 : 100,
                         .is_integer = !is_float || c->option & TIES,
                         .has_gradient = is_float,
                         .tolerance = 1};
    if (c->option & TIES)
        out[X].high = is_unsigned ? 2 : -95;
    for (uint32_t n = 0; n < c->rank; n++) {
        out[X].sizes[n] = c->sizes[n];
        count *= c->sizes[n];
    }
    out[VALUE] = out[X];
    out[VALUE].name = "values";
    out[VALUE].type = KILN_U8;
    out[VALUE].low = 0;
    out[VALUE].is_integer = true;
    out[VALUE].high = 200;
    out[VALUE].has_gradient = false;
    out[OUT] = out[X];
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[OUT].has_gradient = false;
    out[OUT].sizes[c->axis] = results_of(c);
    out[INDEX] = out[OUT];
    out[INDEX].name = "index";
    out[INDEX].type = c->option & I32 ? KILN_I32 : KILN_I64;
    out[INDEX].is_constant = true;
    out[TO_VALUE] = out[INDEX];
    out[TO_VALUE].name = "values_out";
    out[TO_VALUE].type = KILN_U8;
    if (!(c->option & VALUES))
        out[VALUE].role = out[TO_VALUE].role = ROLE_SCRATCH;
    if (c->option & KEYS)
        out[INDEX].role = ROLE_SCRATCH;
    uint64_t rows = size ? count / size : 0;
    out[WORK] = (op_tensor){.name = "workspace",
                            .role = ROLE_SCRATCH,
                            .type = KILN_F64,
                            .rank = 1,
                            .sizes = {16 + 3 * count + rows * 128 * (size / 2048 + 2)}};
    if (size <= 2048)
        out[WORK].sizes[0] = 1;
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_view none = {.buffer = NULL};
    if (pass == PASS_BACKWARD)
        return kiln_sort_backward(k, &(kiln_sort_backward_desc){.dout = views[TENSORS + OUT],
                                                                .index = views[INDEX],
                                                                .dx = views[TENSORS + X],
                                                                .axis = c->axis});
    if (c->option & TOPK)
        return kiln_topk_forward(k, &(kiln_topk_desc){.x = views[X],
                                                      .out = views[OUT],
                                                      .index = views[INDEX],
                                                      .axis = c->axis,
                                                      .is_smallest = c->option & SMALLEST,
                                                      .workspace = views[WORK]});
    return kiln_sort_forward(
        k, &(kiln_sort_desc){.x = views[X],
                             .out = views[OUT],
                             .index = c->option & KEYS ? none : views[INDEX],
                             .values = c->option & VALUES ? views[VALUE] : none,
                             .values_out = c->option & VALUES ? views[TO_VALUE] : none,
                             .axis = c->axis,
                             .is_descending = c->option & DESCENDING,
                             .workspace = views[WORK]});
}

typedef struct element {
    double x; // negated where the largest come first
    size_t at;
} element;

static int compare(const void *a, const void *b)
{
    const element *p = a, *q = b;
    return p->x < q->x ? -1 : p->x > q->x ? 1 : p->at < q->at ? -1 : p->at > q->at;
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t outer = 1, step = 1, size = (size_t)c->sizes[c->axis], wanted = (size_t)results_of(c);
    bool is_down = c->option & TOPK ? !(c->option & SMALLEST) : c->option & DESCENDING;
    for (uint32_t n = 0; n < c->rank; n++)
        *(n < c->axis ? &outer : n > c->axis ? &step : &(size_t){0}) *= (size_t)c->sizes[n];
    element *row = calloc(size + 1, sizeof *row);
    (void)t;
    if (!row)
        abort();
    for (size_t r = 0; r < outer * step; r++) {
        size_t first = r / step * size * step + r % step, to = r / step * wanted * step + r % step;
        for (size_t i = 0; i < size; i++) {
            double x = values[X][first + i * step];
            row[i] = (element){is_down ? -x : x, i};
        }
        qsort(row, size, sizeof *row, compare);
        for (size_t i = 0; i < wanted; i++) {
            size_t from = first + row[i].at * step;
            values[OUT][to + i * step] = values[X][from];
            values[INDEX][to + i * step] = (double)row[i].at;
            values[TO_VALUE][to + i * step] = values[VALUE][from];
        }
    }
    free(row);
}

static void describe(const op_case *c, char *out, size_t size)
{
    int len = 0;
    if (c->option & TOPK)
        len = snprintf(out, size, "top %g ", c->alpha);
    snprintf(out + len, size - (size_t)len, "axis %u%s%s%s%s%s%s", c->axis,
             c->option & DESCENDING ? " descending" : "", c->option & SMALLEST ? " smallest" : "",
             c->option & VALUES ? " values" : "", c->option & I32 ? " i32" : "",
             c->option & TIES ? " ties" : "", c->option & KEYS ? " keys" : "");
}

static bool is_possible(const op_case *c)
{
    return !(c->option & TOPK) || c->alpha <= (double)c->sizes[c->axis];
}

// NaN, infinities and zeros, as bits; short rows and long ones.
static bool is_ordered(kiln *k, size_t count, bool is_descending)
{
    static const uint32_t some[] = {0x7fc00000, 0x00000000, 0x80000000, 0xff800000, 0x7f800000,
                                    0xffc00000, 0x3f800000, 0xbf800000, 0x00000001, 0x80000001};
    static const uint32_t wanted[] = {0xff800000, 0xbf800000, 0x80000001, 0x80000000, 0x00000000,
                                      0x00000001, 0x3f800000, 0x7f800000, 0x7fc00000, 0x7fc00000};
    enum { SOME = sizeof some / sizeof *some };
    uint32_t *bits = calloc(count, sizeof *bits);
    uint64_t bytes = 0;
    kiln_buffer *x = NULL, *out = NULL, *work = NULL;
    for (size_t i = 0; bits && i < count; i++)
        bits[i] = some[i % SOME];
    bool is_right = bits && !kiln_buffer_new(k, KILN_F32, count, &x) &&
                    !kiln_buffer_new(k, KILN_F32, count, &out) && !kiln_write(x, 0, bits, count);
    kiln_sort_desc d = {.x = KILN_VIEW(x, count),
                        .out = KILN_VIEW(out, count),
                        .axis = 0,
                        .is_descending = is_descending};
    is_right = is_right && !kiln_sort_workspace(k, &d, &bytes) &&
               !kiln_buffer_new(k, KILN_U8, bytes, &work);
    d.workspace = KILN_VIEW(work, bytes);
    is_right = is_right && !kiln_sort_forward(k, &d) && !kiln_read(out, 0, bits, count);
    for (size_t i = 0; is_right && i < count; i++) {
        uint32_t want = wanted[(is_descending ? count - 1 - i : i) / (count / SOME)];
        bool is_nan = (want & 0x7fffffff) > 0x7f800000;
        is_right = is_nan ? (bits[i] & 0x7fffffff) > 0x7f800000 : bits[i] == want;
    }
    kiln_buffer_free(x);
    kiln_buffer_free(out);
    kiln_buffer_free(work);
    free(bits);
    return is_right;
}

static int more(kiln *k, int *passed)
{
    static const size_t counts[] = {30, 100, 1000, 2000, 5000};
    int failed = 0;
    for (int n = 0; n < 10; n++) {
        bool is_right = is_ordered(k, counts[n / 2], n % 2);
        if (!is_right)
            printf("sort: special numbers are out of order (%d)\n", n);
        *passed += is_right;
        failed += !is_right;
    }
    kiln_buffer *b = NULL;
    kiln_sort_desc d = {.axis = 0};
    bool is_right = !kiln_buffer_new(k, KILN_F32, 8, &b);
    d.x = KILN_VIEW(b, 8);
    is_right = is_right && kiln_sort_forward(k, &d) == KILN_E_BAD_ARGUMENT; // no result
    d.out = d.x;
    is_right = is_right && kiln_sort_forward(k, &d) == KILN_E_BAD_ARGUMENT; // overlaps
    d.out = kiln_view_slice(d.x, 0, 0, 4, 1);
    d.x = kiln_view_slice(d.x, 0, 4, 8, 1);
    d.axis = 1;
    is_right = is_right && kiln_sort_forward(k, &d) == KILN_E_BAD_ARGUMENT; // no such axis
    if (!is_right)
        printf("sort: a wrong call is not refused\n");
    kiln_buffer_free(b);
    *passed += is_right;
    return failed + !is_right;
}

const op_suite op_suite_sort = {.name = "sort",
                                .cases = cases,
                                .case_count = sizeof cases / sizeof *cases,
                                .has_backward = true,
                                .tensors = tensors,
                                .call = call,
                                .reference = reference,
                                .describe = describe,
                                .is_possible = is_possible,
                                .more = more};
