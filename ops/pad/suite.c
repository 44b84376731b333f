// The cases of padding (ops/suite.h). The reference walks over the outputs.
#include "ops/suite.h"

enum { LAST_TWO, MIDDLE, CROP, TILE, ROLL }; // what happens to the dimensions
enum { NUMBERS = SUITE_FLOATS | SUITE_F64 | 1 << KILN_I32 | 1 << KILN_U8 | 1 << KILN_I64 };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/pad/cases.def"
};

// How much is put before and after dimension d.
static void pads_of(const op_case *c, uint32_t d, int64_t *before, int64_t *after)
{
    int64_t size = (int64_t)c->sizes[d];
    bool is_last = d + 1 == c->rank;
    *before = *after = 0;
    switch (c->axis) {
    case LAST_TWO:
        if (d + 2 >= c->rank) {
            *before = is_last ? 2 : 1;
            *after = is_last ? 3 : 0;
        }
        break;
    case MIDDLE: *before = *after = d + 2 == c->rank ? 2 : 0; break;
    case CROP:
        *before = is_last ? -2 : 1;
        *after = is_last ? 4 : -3;
        break;
    case TILE: *after = size * (is_last ? 2 : 1); break;
    default: // ROLL
        *before = is_last ? 3 : -5;
        *after = -*before;
        break;
    }
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    bool is_float = type >= KILN_F16;
    out[0] = (op_tensor){.name = "x",
                         .type = type,
                         .rank = c->rank,
                         .low = is_float ? -3 : 0,
                         .high = 100,
                         .is_integer = !is_float,
                         .has_gradient = is_float,
                         .tolerance = 4};
    out[1] = out[0];
    out[1].name = "out";
    out[1].role = ROLE_OUTPUT;
    out[1].has_gradient = false;
    for (uint32_t d = 0; d < c->rank; d++) {
        int64_t before, after;
        pads_of(c, d, &before, &after);
        out[0].sizes[d] = c->sizes[d];
        out[1].sizes[d] = (uint64_t)((int64_t)c->sizes[d] + before + after);
    }
    return 2;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_pad_desc forward = {
        .x = views[0], .out = views[1], .mode = (kiln_pad_mode)c->option, .value = c->alpha};
    kiln_pad_backward_desc backward = {.mode = forward.mode};
    for (uint32_t d = 0; d < c->rank; d++) {
        int64_t after;
        pads_of(c, d, &forward.before[d], &after);
        backward.before[d] = forward.before[d];
    }
    if (pass == PASS_FORWARD)
        return kiln_pad_forward(k, &forward);
    if (!views[2].buffer) // integers have no gradient
        return KILN_OK;
    backward.dx = views[2];
    backward.dout = views[3];
    return kiln_pad_backward(k, &backward);
}

// The input's index of an output's; -1: it is the constant.
static int64_t source_of(const op_case *c, int64_t i, int64_t before, int64_t size)
{
    int64_t j = i - before;
    switch (c->option) {
    case KILN_PAD_CONSTANT: return j >= 0 && j < size ? j : -1;
    case KILN_PAD_REFLECT:
        while (j < 0 || j >= size)
            j = j < 0 ? -j : 2 * (size - 1) - j;
        return j;
    case KILN_PAD_EDGE: return j < 0 ? 0 : j >= size ? size - 1 : j;
    default: return (j % size + size) % size;
    }
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t total = 1;
    for (uint32_t d = 0; d < c->rank; d++)
        total *= (size_t)t[1].sizes[d];
    for (size_t i = 0; i < total; i++) {
        size_t rest = i, at = 0, step = 1;
        bool is_inside = true;
        for (uint32_t d = c->rank; d-- > 0; rest /= t[1].sizes[d]) {
            int64_t before, after;
            pads_of(c, d, &before, &after);
            int64_t j =
                source_of(c, (int64_t)(rest % t[1].sizes[d]), before, (int64_t)t[0].sizes[d]);
            is_inside &= j >= 0;
            at += (size_t)(j < 0 ? 0 : j) * step;
            step *= t[0].sizes[d];
        }
        values[1][i] = is_inside ? values[0][at] : c->alpha;
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    static const char *const modes[] = {"constant", "reflect", "edge", "circular"},
                             *const what[] = {"last two", "middle", "cropped", "tiled", "rolled"};
    snprintf(out, size, "%s %s", modes[c->option], what[c->axis]);
}

// What cannot be padded is refused.
static int more(kiln *k, int *passed)
{
    kiln_buffer *b = NULL;
    int failed = kiln_buffer_new(k, KILN_U8, 64, &b) != KILN_OK;
    kiln_pad_desc d = {.x = KILN_VIEW(b, 4), .out = KILN_VIEW(b, 8)};
    d.out.first = 8;
    d.before[0] = 4;
    failed += kiln_pad_forward(k, &d) != KILN_OK;
    d.mode = KILN_PAD_REFLECT;
    failed += kiln_pad_forward(k, &d) != KILN_E_BAD_ARGUMENT; // 3 at most
    d.mode = KILN_PAD_CONSTANT;
    d.value = 256;
    failed += kiln_pad_forward(k, &d) != KILN_E_BAD_ARGUMENT; // not a u8
    d.value = 0;
    d.out.first = 2;
    failed += kiln_pad_forward(k, &d) != KILN_E_BAD_ARGUMENT; // overlaps
    *passed += 4 - failed;
    if (failed)
        printf("pad: %d of 4 checks of arguments fail\n", failed);
    kiln_buffer_free(b);
    return failed;
}

const op_suite op_suite_pad = {.name = "pad",
                               .cases = cases,
                               .case_count = sizeof cases / sizeof *cases,
                               .has_backward = true,
                               .tensors = tensors,
                               .call = call,
                               .reference = reference,
                               .describe = describe,
                               .more = more};
