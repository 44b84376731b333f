// The cases of convolutions (ops/suite.h).
#include "ops/conv/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// option: what a convolution is but for the sizes of its operand. alpha: more outputs than 1023;
// none at all: as many as channels.
#define SHAPE(outputs, groups, window, stride, dilation, before, after)                            \
    ((uint32_t)(outputs) | (uint32_t)(groups) << 10 | (uint32_t)(window) << 19 |                   \
     (uint32_t)(stride) << 23 | (uint32_t)(dilation) << 25 | (uint32_t)(before) << 27 |            \
     (uint32_t)(after) << 29)
enum { // axis
    HAS_BIAS = 1,
    TRANSPOSED = 2,
    LAST = 4,   // memory has the channels as the last dimension
    TENSOR = 8, // the kernel for tensor cores, played where there are none
    SM80 = 16,  // with TENSOR: not that of sm_90a
    ACTIVATIONS = 32,
    BEST = 128 // the kernel that the library chooses, with a workspace
};
#define ACTIVATION(a) (ACTIVATIONS * (uint32_t)(a))

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/conv/cases.def"
};

static const op_case tensor_cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/conv/cases_tensor.def"
};

typedef struct shape {
    uint64_t outputs, groups, window, stride, dilation, before, after;
    uint32_t space;
    uint64_t x[5], weight[5], out[5]; // sizes: batch, channels, three of space
} shape;

static void shape_of(const op_case *c, shape *s)
{
    *s = (shape){.outputs = c->alpha > 0 ? (uint64_t)c->alpha : c->option & 1023,
                 .groups = c->option >> 10 & 511,
                 .window = c->option >> 19 & 15,
                 .stride = c->option >> 23 & 3,
                 .dilation = c->option >> 25 & 3,
                 .before = c->option >> 27 & 3,
                 .after = c->option >> 29,
                 .space = c->rank - 2};
    uint64_t reach = s->dilation * (s->window - 1) + 1;
    bool is_transposed = c->axis & TRANSPOSED;
    s->outputs = s->outputs ? s->outputs : c->sizes[1];
    s->x[0] = s->out[0] = c->sizes[0];
    s->x[1] = c->sizes[1];
    s->out[1] = s->outputs;
    s->weight[0] = is_transposed ? s->x[1] : s->outputs;
    s->weight[1] = (is_transposed ? s->outputs : s->x[1]) / s->groups;
    for (uint32_t d = 0; d < 3; d++) {
        bool is_there = d + s->space >= 3;
        uint64_t size = is_there ? c->sizes[d + c->rank - 3] : 1;
        uint64_t pads = s->before + s->after;
        s->x[2 + d] = size;
        s->weight[2 + d] = is_there ? s->window : 1;
        s->out[2 + d] = !is_there       ? 1
                        : is_transposed ? (size - 1) * s->stride + reach - pads
                                        : (size + pads - reach) / s->stride + 1;
    }
}

// --- tensors
enum { BLOCKS = 264, TILE = 128 };            // of the kernel for weights
enum { PARTS = 16, MOST_SUMS = 132 * 65536 }; // of a sum in parts: a tile for each multiprocessor
static size_t count_of(const uint64_t *sizes);

static bool uses_workspace(const op_case *c)
{
    return c->axis & (TENSOR | BEST) || c->tags & SUITE_BENCH;
}

static kiln_activation activation_of(const op_case *c)
{
    return (kiln_activation)(c->axis / ACTIVATIONS % 4);
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
    uint32_t count = 0;
    shape_of(c, &s);
    // Sums of f32 numbers lose more the longer they are: about half a unit for each term, as
    // products do, where large parts cancel. Narrow results only lose the last bit.
    uint64_t taps = s.weight[2] * s.weight[3] * s.weight[4],
             places = s.out[0] * s.out[2] * s.out[3];
    uint64_t terms = (s.weight[0] + s.weight[1]) * taps + places * s.out[4];
    bool is_narrow = type == KILN_F16 || type == KILN_BF16;
    op_tensor like = {.type = type, .low = -1, .high = 1, .has_gradient = true};
    like.tolerance = is_narrow ? 64 : 64 + (double)terms / 2;
    out[count] = like;
    out[count].name = "x";
    set_sizes(c, s.x, &out[count++]);
    out[count] = like;
    out[count].name = "weight";
    set_sizes(c, s.weight, &out[count++]);
    if (c->axis & HAS_BIAS) {
        out[count] = like;
        out[count].name = "bias";
        out[count].rank = 1;
        out[count++].sizes[0] = s.outputs;
    }
    out[count] = like;
    out[count].name = "out";
    out[count].role = ROLE_OUTPUT;
    out[count].has_gradient = false;
    set_sizes(c, s.out, &out[count++]);
    if (uses_workspace(c)) { // enough for the packed weights, for parts of their sums, and for
                             // copies of tensors
        uint64_t length = s.weight[1] * s.weight[2] * s.weight[3] * s.weight[4];
        uint64_t weights = s.weight[0] * length, tiles = weights / (TILE * TILE);
        uint64_t large = PARTS * count_of(count_of(s.x) > count_of(s.out) ? s.x : s.out);
        uint64_t wide_x = count_of(s.x) / (s.x[1] ? s.x[1] : 1) * (s.x[1] + 7),
                 wide_out = count_of(s.out) / (s.out[1] ? s.out[1] : 1) * (s.out[1] + 7);
        bool is_plain = c->axis & LAST && s.x[1] % 8 == 0 && s.out[1] % 8 == 0;
        uint64_t copies = is_plain ? 0 : wide_x + wide_out + 512;
        out[count] = (op_tensor){.name = "workspace",
                                 .role = ROLE_SCRATCH,
                                 .type = KILN_F32,
                                 .rank = 1,
                                 .sizes = {(BLOCKS / (tiles ? tiles : 1) + 1) * weights + 64 +
                                           (large < MOST_SUMS ? large : MOST_SUMS) + copies +
                                           (type == KILN_F32 ? 32 * weights : 0)}};
        count++;
    }
    return count;
}

// --- calls
static kiln_view permuted(const op_case *c, kiln_view v)
{
    uint32_t order[KILN_MAX_RANK] = {0, c->rank - 1};
    for (uint32_t n = 2; n < c->rank; n++)
        order[n] = n - 1;
    return c->axis & LAST && v.buffer ? kiln_view_permute(v, order) : v;
}

static kiln_window window_of(const shape *s)
{
    kiln_window w = {.stride = {0}};
    for (uint32_t n = 0; n < s->space; n++) {
        w.stride[n] = (uint32_t)s->stride;
        w.dilation[n] = (uint32_t)s->dilation;
        w.pad_before[n] = (uint32_t)s->before;
        w.pad_after[n] = (uint32_t)s->after;
    }
    return w;
}

static kiln_conv_kernel kernel_of(const op_case *c)
{
    return c->axis & SM80                            ? KILN_CONV_SM80
           : c->axis & TENSOR                        ? KILN_CONV_TENSOR
           : c->tags & SUITE_BENCH || c->axis & BEST ? KILN_CONV_BEST
                                                     : KILN_CONV_DIRECT;
}

void conv_suite_forward(const op_case *c, const kiln_view *views, kiln_conv_desc *out)
{
    shape s;
    shape_of(c, &s);
    bool has_bias = c->axis & HAS_BIAS;
    uint32_t result = has_bias ? 3 : 2;
    *out = (kiln_conv_desc){.x = permuted(c, views[0]),
                            .weight = permuted(c, views[1]),
                            .bias = has_bias ? views[2] : (kiln_view){0},
                            .out = permuted(c, views[result]),
                            .window = window_of(&s),
                            .groups = (uint32_t)s.groups,
                            .is_transposed = c->axis & TRANSPOSED,
                            .activation = activation_of(c),
                            .kernel = kernel_of(c),
                            .workspace = uses_workspace(c) ? views[result + 1] : (kiln_view){0}};
}

void conv_suite_backward(const op_case *c, const kiln_view *views, kiln_conv_backward_desc *out)
{
    shape s;
    shape_of(c, &s);
    bool has_bias = c->axis & HAS_BIAS;
    uint32_t result = has_bias ? 3 : 2, d = result + 1 + uses_workspace(c);
    *out = (kiln_conv_backward_desc){.x = permuted(c, views[0]),
                                     .weight = permuted(c, views[1]),
                                     .dout = permuted(c, views[d + result]),
                                     .dx = permuted(c, views[d]),
                                     .dweight = permuted(c, views[d + 1]),
                                     .dbias = has_bias ? views[d + 2] : (kiln_view){0},
                                     .window = window_of(&s),
                                     .groups = (uint32_t)s.groups,
                                     .is_transposed = c->axis & TRANSPOSED,
                                     .kernel = kernel_of(c),
                                     .workspace =
                                         uses_workspace(c) ? views[result + 1] : (kiln_view){0}};
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_conv_desc forward;
    kiln_conv_backward_desc backward;
    if (pass == PASS_FORWARD) {
        conv_suite_forward(c, views, &forward);
        return kiln_conv_forward(k, &forward);
    }
    conv_suite_backward(c, views, &backward);
    return kiln_conv_backward(k, &backward);
}

// --- a window from words
bool conv_suite_read(op_case *c, const char *words)
{
    enum { OUTPUTS, GROUPS, WINDOW, STRIDE, DILATION, PAD, WORDS };
    static const struct {
        const char *name;
        long low, high, otherwise;
    } known[WORDS] = {[OUTPUTS] = {"outputs", 1, 1 << 16, 0}, [GROUPS] = {"groups", 1, 511, 1},
                      [WINDOW] = {"window", 1, 15, 3},        [STRIDE] = {"stride", 1, 3, 1},
                      [DILATION] = {"dilation", 1, 3, 1},     [PAD] = {"pad", 0, 3, -1}};
    long values[WORDS];
    for (int n = 0; n < WORDS; n++)
        values[n] = known[n].otherwise;
    while (*words) {
        int n = 0;
        size_t length = strcspn(words, "=");
        while (n < WORDS &&
               (strlen(known[n].name) != length || strncmp(words, known[n].name, length) != 0))
            n++;
        if (n == WORDS || words[length] != '=')
            return false;
        char *end;
        values[n] = strtol(words + length + 1, &end, 10);
        if (end == words + length + 1 || values[n] < known[n].low || values[n] > known[n].high ||
            (*end && *end != ','))
            return false;
        words = end + (*end == ',');
    }
    if (values[PAD] < 0)
        values[PAD] = values[DILATION] * (values[WINDOW] - 1) / 2;
    if (values[PAD] > known[PAD].high)
        return false;
    bool is_wide = values[OUTPUTS] > 1023;
    c->alpha = is_wide ? (double)values[OUTPUTS] : 0;
    c->option = SHAPE(is_wide ? 0 : values[OUTPUTS], values[GROUPS], values[WINDOW], values[STRIDE],
                      values[DILATION], values[PAD], values[PAD]);
    return true;
}

// --- the reference
// Where the element lies in a tensor of those sizes.
static size_t at(const op_case *c, const uint64_t *sizes, const uint64_t *index)
{
    size_t place = index[0];
    if (!(c->axis & LAST))
        place = place * sizes[1] + index[1];
    for (uint32_t d = 2; d < 5; d++)
        place = place * sizes[d] + index[d];
    return c->axis & LAST ? place * sizes[1] + index[1] : place;
}

static void next(const uint64_t *sizes, uint64_t *index)
{
    for (uint32_t d = 5; d-- > 0;) {
        if (++index[d] < sizes[d])
            return;
        index[d] = 0;
    }
}

static size_t count_of(const uint64_t *sizes)
{
    return (size_t)(sizes[0] * sizes[1] * sizes[2] * sizes[3] * sizes[4]);
}

static double activated(kiln_activation a, double x)
{
    return a == KILN_ACTIVATION_RELU   ? fmax(x, 0)
           : a == KILN_ACTIVATION_SILU ? x / (1 + exp(-x))
           : a == KILN_ACTIVATION_GELU
               ? 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
               : x;
}

// Every weight, and every place of the small tensor: adds one product to the result.
static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    shape s;
    (void)t;
    shape_of(c, &s);
    bool is_transposed = c->axis & TRANSPOSED;
    const uint64_t *large = is_transposed ? s.out : s.x, *small = is_transposed ? s.x : s.out;
    double *out = values[c->axis & HAS_BIAS ? 3 : 2];
    uint64_t w[5] = {0}, o[5] = {0};
    for (size_t n = 0; n < count_of(s.out); n++, next(s.out, o))
        out[at(c, s.out, o)] = c->axis & HAS_BIAS ? values[2][o[1]] : 0;
    for (size_t n = 0; n < count_of(s.weight); n++, next(s.weight, w)) {
        uint64_t group = w[0] / (small[1] / s.groups), p[5] = {0}, places[5];
        memcpy(places, small, sizeof places);
        places[1] = 1;
        for (size_t m = 0; m < count_of(places); m++, next(places, p)) {
            uint64_t l[5] = {p[0], group * s.weight[1] + w[1]},
                     q[5] = {p[0], w[0], p[2], p[3], p[4]};
            bool is_inside = true;
            for (uint32_t d = 2; d < 5; d++) {
                bool is_there = d + s.space >= 5;
                l[d] = is_there ? p[d] * s.stride + w[d] * s.dilation - s.before : 0;
                is_inside &= l[d] < large[d]; // below 0 it is huge
            }
            if (!is_inside)
                continue;
            double weight = values[1][at(c, s.weight, w)];
            if (is_transposed)
                out[at(c, large, l)] += weight * values[0][at(c, small, q)];
            else
                out[at(c, small, q)] += weight * values[0][at(c, large, l)];
        }
    }
    for (size_t n = 0; n < count_of(s.out); n++)
        out[n] = activated(activation_of(c), out[n]);
}

static void describe(const op_case *c, char *out, size_t size)
{
    static const char *const activations[] = {"", " relu", " gelu", " silu"};
    shape s;
    shape_of(c, &s);
    int len = snprintf(out, size, "to %u window %u", (unsigned)s.outputs, (unsigned)s.window);
    const struct {
        const char *name;
        uint64_t value, usual;
    } more[] = {{"stride", s.stride, 1}, {"dilation", s.dilation, 1}, {"groups", s.groups, 1}};
    for (size_t n = 0; n < sizeof more / sizeof *more; n++)
        if (more[n].value != more[n].usual)
            len += snprintf(out + len, size - (size_t)len, " %s %u", more[n].name,
                            (unsigned)more[n].value);
    if (s.before || s.after)
        len += snprintf(out + len, size - (size_t)len, " pad %u+%u", (unsigned)s.before,
                        (unsigned)s.after);
    snprintf(out + len, size - (size_t)len, "%s%s%s%s", c->axis & TRANSPOSED ? " transposed" : "",
             c->axis & SM80     ? " tensor cores of sm_80"
             : c->axis & TENSOR ? " tensor cores"
             : c->axis & LAST   ? " channels last"
                                : "",
             c->axis & HAS_BIAS ? " bias" : "", activations[activation_of(c)]);
}

// For sizes drawn at random: the window fits, and a transposed result is not empty.
static bool is_possible(const op_case *c)
{
    shape s;
    if (c->rank < 3 || c->rank > 5)
        return false;
    shape_of(c, &s);
    for (uint32_t d = 0; d < s.space; d++) {
        uint64_t size = c->sizes[2 + d], reach = s.dilation * (s.window - 1) + 1;
        if (c->axis & TRANSPOSED ? !size || (size - 1) * s.stride + reach <= s.before + s.after
                                 : size + s.before + s.after < reach)
            return false;
    }
    return c->sizes[1] % s.groups == 0 && s.outputs % s.groups == 0;
}

static double operations(const op_case *c)
{
    shape s;
    shape_of(c, &s);
    const uint64_t *small = c->axis & TRANSPOSED ? s.x : s.out;
    return 2 * (double)count_of(small) * (double)count_of(s.weight) / (double)s.weight[0];
}

// --- refusals
static int refused(kiln *k, const kiln_conv_desc *d, const char *wanted)
{
    bool is_right = kiln_conv_forward(k, d) && strstr(kiln_last_error(k)->text, wanted);
    if (!is_right)
        printf("conv: '%s' was expected, not: %s\n", wanted, kiln_last_error(k)->text);
    return !is_right;
}

static const op_suite tensor_suite = {.name = "conv",
                                      .cases = tensor_cases,
                                      .case_count = sizeof tensor_cases / sizeof *tensor_cases,
                                      .has_backward = true,
                                      .tensors = tensors,
                                      .call = call,
                                      .reference = reference,
                                      .describe = describe,
                                      .is_possible = is_possible};

static int more(kiln *k, int *passed)
{
    kiln_device_info info;
    suite_counts counts = {0};
    if (!kiln_device_info_of(k, &info) && info.caps.has_nv)
        suite_test(k, NULL, &tensor_suite, false, &counts);
    *passed += counts.passed;
    kiln_buffer *b = NULL;
    int failed = kiln_buffer_new(k, KILN_F32, 4096, &b) != KILN_OK;
    kiln_view x = KILN_VIEW(b, 1, 4, 6, 6), weight = KILN_VIEW(b, 8, 4, 3, 3);
    kiln_view out = KILN_VIEW(b, 1, 8, 4, 4);
    weight.first = 1000;
    out.first = 2000;
    kiln_conv_desc d = {.x = x, .weight = weight, .out = out};
    failed += kiln_conv_forward(k, &d) != KILN_OK;
    d.window.pad_before[0] = 1;
    failed +=
        refused(k, &d, "along dimension 0 of space 'out' has 4 elements; for 6 of 'x' it needs 5");
    d.window = (kiln_window){.dilation = {3, 1}};
    failed += refused(k, &d, "reaches over 7 elements, and 'x' has 6 with its padding");
    d.window = (kiln_window){.stride = {0}};
    d.groups = 3;
    failed += refused(k, &d, "batches or channels do not fit");
    d.groups = 1;
    d.bias = KILN_VIEW(b, 7);
    d.bias.first = 3000;
    failed += refused(k, &d, "'bias' must be [8]");
    d.bias = (kiln_view){0};
    d.out.first = 1;
    failed += refused(k, &d, "'out' overlaps 'x'");
    d.out = KILN_VIEW(b, 8, 4, 4);
    d.out.first = 2000;
    failed += refused(k, &d, "3, 4 or 5 dimensions");
    *passed += !failed;
    kiln_buffer_free(b);
    return failed + counts.failed;
}

const op_suite op_suite_conv = {.name = "conv",
                                .cases = cases,
                                .case_count = sizeof cases / sizeof *cases,
                                .has_backward = true,
                                .tensors = tensors,
                                .call = call,
                                .reference = reference,
                                .describe = describe,
                                .is_possible = is_possible,
                                .operations = operations,
                                .more = more};
