// The cases of pooling (ops/suite.h). Tensors of a maximum have their indices as another output.
#include "ops/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE(window, stride, dilation, before, after)                                             \
    ((uint32_t)(window) | (uint32_t)(stride) << 8 | (uint32_t)(dilation) << 12 |                   \
     (uint32_t)(before) << 16 | (uint32_t)(after) << 20)
enum { // axis
    AVERAGE = 1,
    PADDING = 2,
    ROUND_UP = 4,
    ADAPTIVE = 8,
    LAST = 16, // memory has the channels as the last dimension
    WIDE_INDEX = 32,
    NO_INDICES = 64
};

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/pool/cases.def"
};

typedef struct shape {
    uint64_t window, stride, dilation, before, after; // as given
    uint32_t space;
    uint64_t x[5], out[5], taps[5]; // batch, channels, three of space
} shape;

static void shape_of(const op_case *c, shape *s)
{
    *s = (shape){.window = c->option & 255,
                 .stride = c->option >> 8 & 15,
                 .dilation = c->option >> 12 & 15,
                 .before = c->option >> 16 & 15,
                 .after = c->option >> 20,
                 .space = c->rank - 2};
    s->x[0] = s->out[0] = c->sizes[0];
    s->x[1] = s->out[1] = c->sizes[1];
    for (uint32_t d = 0; d < 3; d++) {
        bool is_there = d + s->space >= 3;
        uint64_t size = is_there ? c->sizes[d + c->rank - 3] : 1;
        uint64_t taps = !is_there ? 1 : s->window ? s->window : size;
        uint64_t stride = s->stride ? s->stride : taps, padded = size + s->before + s->after;
        uint64_t reach = s->dilation * (taps - 1) + 1;
        uint64_t more = c->axis & ROUND_UP ? stride - 1 : 0;
        s->x[2 + d] = size;
        s->taps[2 + d] = taps;
        uint64_t out = c->axis & ADAPTIVE ? s->window : (padded - reach + more) / stride + 1;
        if (c->axis & ROUND_UP && (out - 1) * stride >= size + s->before)
            out--;
        s->out[2 + d] = is_there ? out : 1;
    }
}

static bool has_indices(const op_case *c)
{
    return !(c->axis & (AVERAGE | NO_INDICES));
}

static void set_sizes(const op_case *c, const uint64_t *sizes, op_tensor *t)
{
    t->rank = c->rank;
    for (uint32_t n = 0; n < c->rank; n++) {
        uint32_t from = c->axis & LAST && n ? n + 1 < c->rank ? n + 1 : 1 : n;
        t->sizes[n] = sizes[from < 2 ? from : from + 5 - c->rank];
    }
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    shape s;
    shape_of(c, &s);
    out[0] = (op_tensor){.name = "x", .type = type, .low = -2, .high = 2, .tolerance = 16};
    out[0].has_gradient = !(c->axis & NO_INDICES);
    set_sizes(c, s.x, &out[0]);
    out[1] = out[0];
    out[1].name = "out";
    out[1].role = ROLE_OUTPUT;
    out[1].has_gradient = false;
    set_sizes(c, s.out, &out[1]);
    out[2] = out[1];
    out[2].name = "indices";
    out[2].type = c->axis & WIDE_INDEX ? KILN_I64 : KILN_I32;
    out[2].is_constant = true;
    return has_indices(c) ? 3 : 2;
}

static kiln_view permuted(const op_case *c, kiln_view v)
{
    uint32_t order[KILN_MAX_RANK] = {0, c->rank - 1};
    for (uint32_t n = 2; n < c->rank; n++)
        order[n] = n - 1;
    return c->axis & LAST && v.buffer ? kiln_view_permute(v, order) : v;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    shape s;
    shape_of(c, &s);
    bool is_max = !(c->axis & AVERAGE);
    uint32_t count = has_indices(c) ? 3 : 2;
    kiln_pool_shape p = {.kind = is_max ? KILN_POOL_MAX : KILN_POOL_AVERAGE,
                         .is_adaptive = c->axis & ADAPTIVE,
                         .counts_padding = c->axis & PADDING};
    for (uint32_t n = 0; n < s.space && !p.is_adaptive; n++) {
        p.size[n] = (uint32_t)s.window;
        p.window.stride[n] = (uint32_t)s.stride;
        p.window.dilation[n] = (uint32_t)s.dilation;
        p.window.pad_before[n] = (uint32_t)s.before;
        p.window.pad_after[n] = (uint32_t)s.after;
    }
    kiln_view indices = has_indices(c) ? permuted(c, views[2]) : (kiln_view){0};
    if (pass == PASS_FORWARD)
        return kiln_pool_forward(k, &(kiln_pool_desc){.x = permuted(c, views[0]),
                                                      .out = permuted(c, views[1]),
                                                      .indices = indices,
                                                      .shape = p});
    if (c->axis & NO_INDICES) // nor gradients
        return KILN_OK;
    return kiln_pool_backward(k, &(kiln_pool_backward_desc){.dout = permuted(c, views[count + 1]),
                                                            .dx = permuted(c, views[count]),
                                                            .indices = indices,
                                                            .shape = p});
}

static size_t at(const op_case *c, const uint64_t *sizes, const uint64_t *index)
{
    size_t place = index[0];
    if (!(c->axis & LAST))
        place = place * sizes[1] + index[1];
    for (uint32_t d = 2; d < 5; d++)
        place = place * sizes[d] + index[d];
    return c->axis & LAST ? place * sizes[1] + index[1] : place;
}

static bool next(const uint64_t *sizes, uint64_t *index)
{
    for (uint32_t d = 5; d-- > 0;) {
        if (++index[d] < sizes[d])
            return true;
        index[d] = 0;
    }
    return false;
}

// Window `o` of dimension d: which elements it has, as a step and an end; may begin below 0.
static void range(const op_case *c, const shape *s, uint32_t d, uint64_t o, int64_t *begin,
                  int64_t *end, int64_t *step)
{
    bool is_there = d + s->space >= 5;
    uint64_t stride = s->stride ? s->stride : s->taps[d];
    *step = c->axis & ADAPTIVE || !is_there ? 1 : (int64_t)s->dilation;
    if (!is_there) {
        *begin = 0;
        *end = 1;
    } else if (c->axis & ADAPTIVE) {
        *begin = (int64_t)(o * s->x[d] / s->out[d]);
        *end = (int64_t)ceil((double)((o + 1) * s->x[d]) / (double)s->out[d]);
    } else {
        *begin = (int64_t)(o * stride) - (int64_t)s->before;
        *end = *begin + (int64_t)(s->dilation * (s->taps[d] - 1)) + 1;
    }
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    shape s;
    uint64_t o[5] = {0};
    (void)t;
    shape_of(c, &s);
    if (s.out[0] * s.out[1] * s.out[2] * s.out[3] * s.out[4] == 0)
        return;
    do {
        int64_t begin[5], end[5], step[5];
        double sum = 0, largest = -HUGE_VAL;
        uint64_t count = 0, index = UINT64_MAX;
        for (uint32_t d = 2; d < 5; d++)
            range(c, &s, d, o[d], &begin[d], &end[d], &step[d]);
        for (int64_t i = begin[2]; i < end[2]; i += step[2])
            for (int64_t j = begin[3]; j < end[3]; j += step[3])
                for (int64_t l = begin[4]; l < end[4]; l += step[4]) {
                    const int64_t p[3] = {i, j, l};
                    bool is_inside = true, is_padded = true;
                    for (uint32_t d = 0; d < 3; d++) {
                        int64_t size = (int64_t)s.x[2 + d];
                        int64_t after = d + s.space >= 3 ? (int64_t)s.after : 0;
                        is_inside &= p[d] >= 0 && p[d] < size;
                        is_padded &= p[d] < size + after;
                    }
                    count += c->axis & PADDING ? is_padded : is_inside;
                    if (!is_inside)
                        continue;
                    const uint64_t from[5] = {o[0], o[1], (uint64_t)i, (uint64_t)j, (uint64_t)l};
                    double x = values[0][at(c, s.x, from)];
                    sum += x;
                    if (x > largest) {
                        largest = x;
                        index = (from[2] * s.x[3] + from[3]) * s.x[4] + from[4];
                    }
                }
        size_t to = at(c, s.out, o);
        values[1][to] = !(c->axis & AVERAGE) ? largest : count ? sum / (double)count : 0;
        if (has_indices(c))
            values[2][to] = index == UINT64_MAX ? -1 : (double)index;
    } while (next(s.out, o));
}

static void describe(const op_case *c, char *out, size_t size)
{
    shape s;
    shape_of(c, &s);
    int len = snprintf(out, size, "%s", c->axis & AVERAGE ? "average" : "max");
    if (c->axis & ADAPTIVE)
        len += snprintf(out + len, size - (size_t)len, " adaptive to %u", (unsigned)s.window);
    else if (!s.window)
        len += snprintf(out + len, size - (size_t)len, " global");
    else
        len += snprintf(out + len, size - (size_t)len, " window %u stride %u", (unsigned)s.window,
                        (unsigned)(s.stride ? s.stride : s.window));
    if (s.before || s.after)
        len += snprintf(out + len, size - (size_t)len, " pad %u+%u%s", (unsigned)s.before,
                        (unsigned)s.after, c->axis & PADDING ? " counted" : "");
    snprintf(out + len, size - (size_t)len, "%s%s%s%s", s.dilation > 1 ? " dilated" : "",
             c->axis & ROUND_UP ? " rounded up" : "", c->axis & LAST ? " channels last" : "",
             c->axis & NO_INDICES ? " without indices" : "");
}

// For sizes drawn at random: the window fits.
static bool is_possible(const op_case *c)
{
    shape s;
    if (c->rank < 3 || c->rank > 5)
        return false;
    s.window = c->option & 255;
    s.dilation = c->option >> 12 & 15;
    s.before = c->option >> 16 & 15;
    s.after = c->option >> 20;
    for (uint32_t d = 2; d < c->rank; d++)
        if (!c->sizes[d] || (!(c->axis & ADAPTIVE) && s.window &&
                             c->sizes[d] + s.before + s.after < s.dilation * (s.window - 1) + 1))
            return false;
    return true;
}

static int refused(kiln *k, const kiln_pool_desc *d, const char *wanted)
{
    bool is_right = kiln_pool_forward(k, d) && strstr(kiln_last_error(k)->text, wanted);
    if (!is_right)
        printf("pool: '%s' was expected, not: %s\n", wanted, kiln_last_error(k)->text);
    return !is_right;
}

// So many planes that a thread has several, forward and backward: each must have the bits that it
// has alone.
static int planes(kiln *k, kiln_pooling kind, bool is_last)
{
    enum {
        SIDE = 24,
        OUT = 12,
        LARGE = SIDE * SIDE,
        SMALL = OUT * OUT,
        OWN = 8,
        PLANES = 260 * OWN
    };
    kiln_buffer *x, *out, *indices, *dx;
    kiln_status status = kiln_buffer_new(k, KILN_F32, PLANES * LARGE, &x);
    status = status ? status : kiln_buffer_new(k, KILN_F32, PLANES * SMALL, &out);
    status = status ? status : kiln_buffer_new(k, KILN_I32, PLANES * SMALL, &indices);
    status = status ? status : kiln_buffer_new(k, KILN_F32, PLANES * LARGE, &dx);
    float *numbers = malloc(sizeof(float) * PLANES * LARGE),
          *alone = malloc(sizeof(float) * OWN * LARGE);
    if (status || !numbers || !alone)
        return 1;
    for (uint32_t run = 0; run < 2; run++) { // few planes, then many with the same elements
        uint32_t count = run ? PLANES : OWN;
        kiln_view large = KILN_VIEW(x, 1, count, SIDE, SIDE),
                  small = KILN_VIEW(out, 1, count, OUT, OUT);
        if (is_last) {
            const uint32_t order[] = {0, 3, 1, 2};
            large = kiln_view_permute(KILN_VIEW(x, count / OWN, SIDE, SIDE, OWN), order);
            small = kiln_view_permute(KILN_VIEW(out, count / OWN, OUT, OUT, OWN), order);
        }
        kiln_view places = small, gradient = large;
        places.buffer = indices;
        gradient.buffer = dx;
        for (uint32_t n = 0; n < count * LARGE; n++)
            numbers[n] = (float)((n % (OWN * LARGE)) * 2654435761u >> 20);
        bool is_max = kind == KILN_POOL_MAX;
        kiln_pool_desc d = {.x = large, .out = small, .shape = {.kind = kind, .size = {3, 3}}};
        d.shape.window = (kiln_window){.stride = {2, 2}, .pad_before = {1, 1}, .pad_after = {1, 1}};
        d.indices = is_max ? places : (kiln_view){0};
        kiln_pool_backward_desc b = {
            .dout = small, .dx = gradient, .indices = d.indices, .shape = d.shape};
        if (kiln_write(x, 0, numbers, count * LARGE) || kiln_pool_forward(k, &d) ||
            kiln_pool_backward(k, &b) || kiln_read(dx, 0, run ? numbers : alone, count * LARGE))
            return 1;
    }
    int failed = 0;
    for (uint32_t n = 0; n < PLANES * LARGE; n++)
        failed |= memcmp(&numbers[n], &alone[n % (OWN * LARGE)], sizeof *numbers) != 0;
    if (failed)
        printf("pool: a plane among many has other bits than alone\n");
    kiln_buffer_free(x);
    kiln_buffer_free(out);
    kiln_buffer_free(indices);
    kiln_buffer_free(dx);
    free(numbers);
    free(alone);
    return failed;
}

// Of equal elements the first one, also of zeros of either sign, of several NaN the first one, and
// minus infinity has a place. Rows of 3 are read element by element, rows of 16 as packs.
static int extremes(kiln *k, uint32_t columns)
{
    enum { ROWS = 3, MOST = ROWS * 16 };
    static const float values[15] = {-INFINITY, -INFINITY, 5,     -INFINITY, NAN,   5,  1, NAN,
                                     2,         0,         -0.0f, 0,         -0.0f, -1, 0};
    const uint32_t count = ROWS * columns;
    kiln_buffer *from = NULL, *to = NULL, *places = NULL;
    int32_t index[MOST] = {0};
    float x[MOST], out[MOST] = {0}, alone[MOST] = {0};
    for (uint32_t n = 0; n < count; n++)
        x[n] = values[count == 9 ? n : n * 2654435761u % 105 / 7];
    bool is_right = !kiln_buffer_new(k, KILN_F32, count, &from) &&
                    !kiln_buffer_new(k, KILN_F32, count, &to) &&
                    !kiln_buffer_new(k, KILN_I32, count, &places) && !kiln_write(from, 0, x, count);
    kiln_pool_desc d = {.x = KILN_VIEW(from, 1, 1, ROWS, columns),
                        .out = KILN_VIEW(to, 1, 1, ROWS, columns),
                        .indices = KILN_VIEW(places, 1, 1, ROWS, columns),
                        .shape = {.size = {2, 2}, .window = {.stride = {1, 1}}}};
    d.shape.window.pad_before[0] = d.shape.window.pad_before[1] = 1;
    is_right = is_right && !kiln_pool_forward(k, &d);
    is_right = is_right && !kiln_read(places, 0, index, count) && !kiln_read(to, 0, out, count);
    d.indices = (kiln_view){0};
    is_right = is_right && !kiln_pool_forward(k, &d) && !kiln_read(to, 0, alone, count);
    for (uint32_t n = 0; n < count && is_right; n++) {
        int32_t first = -1, row = (int32_t)(n / columns), column = (int32_t)(n % columns);
        for (int32_t i = row - 1; i <= row; i++) // the reference, in the order of the window
            for (int32_t j = column - 1; j <= column; j++) {
                int32_t at = i * (int32_t)columns + j;
                bool is_there = i >= 0 && j >= 0;
                if (is_there &&
                    (first < 0 || x[at] > x[first] || (isnan(x[at]) && !isnan(x[first]))))
                    first = at;
            }
        is_right = index[n] == first && memcmp(&out[n], &x[first], sizeof *out) == 0 &&
                   (isnan(out[n]) ? isnan(alone[n]) : !memcmp(&out[n], &alone[n], sizeof *out));
    }
    if (!is_right)
        printf("pool: a window with equal elements, NaN or infinity is wrong, rows of %u\n",
               columns);
    kiln_buffer_free(from);
    kiln_buffer_free(to);
    kiln_buffer_free(places);
    return !is_right;
}

static int more(kiln *k, int *passed)
{
    kiln_buffer *b = NULL;
    int failed = kiln_buffer_new(k, KILN_F32, 1024, &b) != KILN_OK;
    kiln_view x = KILN_VIEW(b, 1, 2, 6, 6), out = KILN_VIEW(b, 1, 2, 3, 3);
    out.first = 500;
    kiln_pool_desc d = {.x = x, .out = out, .shape = {.size = {2, 2}}};
    failed += kiln_pool_forward(k, &d) != KILN_OK;
    d.shape.size[0] = 3;
    failed +=
        refused(k, &d, "along dimension 0 of space 'out' has 3 elements; for 6 of 'x' it needs 2");
    d.shape.size[0] = 2;
    d.shape.window.pad_before[1] = 2;
    failed += refused(k, &d, "the padding is as long as the window");
    d.shape.window.pad_before[1] = 0;
    d.out.sizes[1] = 1;
    failed += refused(k, &d, "the same batch and channels");
    d.out.sizes[1] = 2;
    d.indices = out;
    d.indices.first = 600;
    failed += refused(k, &d, "'indices' is f32, not i32 or i64");
    d.shape.kind = KILN_POOL_AVERAGE;
    failed += refused(k, &d, "an average has no indices");
    kiln_pool_backward_desc back = {.dout = out, .dx = x, .shape = {.size = {2, 2}}};
    bool is_right =
        kiln_pool_backward(k, &back) && strstr(kiln_last_error(k)->text, "'indices' is missing");
    failed += !is_right;
    failed += extremes(k, 3);
    failed += extremes(k, 16);
    for (uint32_t n = 0; n < 4; n++)
        failed += planes(k, n & 1 ? KILN_POOL_MAX : KILN_POOL_AVERAGE, n & 2);
    *passed += !failed;
    kiln_buffer_free(b);
    return failed;
}

const op_suite op_suite_pool = {.name = "pool",
                                .cases = cases,
                                .case_count = sizeof cases / sizeof *cases,
                                .has_backward = true,
                                .tensors = tensors,
                                .call = call,
                                .reference = reference,
                                .describe = describe,
                                .is_possible = is_possible,
                                .more = more};
