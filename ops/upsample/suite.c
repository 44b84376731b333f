// The cases of upsampling (ops/suite.h).
#include "ops/suite.h"

#include <math.h>
#include <string.h>

enum { LINEAR = 1, CORNERS = 2, FLOATS = SUITE_FLOATS | SUITE_F64 };
enum { X, OUT, TENSORS };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/upsample/cases.def"
};

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    bool is_float = type >= KILN_F16;
    out[X] = (op_tensor){.name = "x",
                         .type = type,
                         .rank = c->rank,
                         .low = is_float ? -3 : 0,
                         .high = 3,
                         .is_integer = !is_float,
                         .has_gradient = is_float,
                         .tolerance = 64};
    for (uint32_t d = 0; d < c->rank && type == KILN_F64; d++)
        out[X].tolerance += 16 * (double)c->sizes[d]; // positions are f64: their error grows
    out[OUT] = out[X];
    for (uint32_t d = 0; d < c->rank; d++) {
        out[X].sizes[d] = c->sizes[d];
        bool is_same = d + c->axis < c->rank;
        out[OUT].sizes[d] =
            is_same ? c->sizes[d] : (uint64_t)floor((double)c->sizes[d] * c->alpha + 0.01);
    }
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[OUT].has_gradient = false;
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_upsample_mode mode = c->option & LINEAR ? KILN_UPSAMPLE_LINEAR : KILN_UPSAMPLE_NEAREST;
    if (pass == PASS_FORWARD)
        return kiln_upsample_forward(k,
                                     &(kiln_upsample_desc){.x = views[X],
                                                           .out = views[OUT],
                                                           .mode = mode,
                                                           .aligns_corners = c->option & CORNERS});
    return kiln_upsample_backward(
        k, &(kiln_upsample_backward_desc){.dout = views[TENSORS + OUT],
                                          .dx = views[TENSORS + X],
                                          .mode = mode,
                                          .aligns_corners = c->option & CORNERS});
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t total = 1;
    for (uint32_t d = 0; d < c->rank; d++)
        total *= (size_t)t[OUT].sizes[d];
    for (size_t i = 0; i < total; i++) {
        size_t low[KILN_MAX_RANK], rest = i;
        double share[KILN_MAX_RANK], sum = 0;
        for (uint32_t d = c->rank; d-- > 0; rest /= t[OUT].sizes[d]) {
            double in = (double)t[X].sizes[d], out = (double)t[OUT].sizes[d];
            double at = (double)(rest % t[OUT].sizes[d]);
            if (!(c->option & LINEAR))
                at = floor(at * in / out + 1e-9);
            else if (c->option & CORNERS)
                at = out > 1 ? at * (in - 1) / (out - 1) : 0;
            else
                at = fmax((at + 0.5) * in / out - 0.5, 0);
            low[d] = (size_t)fmin(floor(at), in - 1);
            share[d] = fmin(at, in - 1) - (double)low[d];
        }
        for (uint32_t corner = 0; corner < 1u << c->rank; corner++) {
            size_t place = 0;
            double weight = 1;
            for (uint32_t d = 0; d < c->rank; d++) {
                uint32_t is_high = corner >> d & 1;
                size_t at = low[d] + (is_high && low[d] + 1 < t[X].sizes[d]);
                place = place * t[X].sizes[d] + at;
                weight *= is_high ? share[d] : 1 - share[d];
            }
            sum += weight > 0 ? weight * values[X][place] : 0;
        }
        values[OUT][i] = sum;
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "%s%s of %u by %g", c->option & LINEAR ? "linear" : "nearest",
             c->option & CORNERS ? " corners" : "", c->axis, c->alpha);
}

// The same bits whether results lie side by side, so that a thread has several of them, or not;
// also where a number that counts nothing is infinite or no number.
static int spread(kiln *k, kiln_type type, kiln_upsample_mode mode)
{
    enum { PLANES = 3, ROWS = 5, COLUMNS = 16, COUNT = PLANES * ROWS * COLUMNS, TWICE = 4 * COUNT };
    static const float some[] = {1, INFINITY, -2, 3, NAN, 0.5f, -0.0f, -INFINITY, 7, 0.3f, 11};
    float x[COUNT];
    uint32_t size = type == KILN_F32 ? 4 : 2;
    uint16_t narrow[COUNT];
    uint8_t dense[4 * TWICE] = {0}, apart[8 * TWICE] = {0};
    kiln_buffer *from = NULL, *to = NULL, *wide = NULL;
    for (uint32_t n = 0; n < COUNT; n++) {
        uint32_t bits;
        x[n] = some[n * 2654435761u % 1100 / 100];
        memcpy(&bits, &x[n], sizeof bits);
        narrow[n] = (uint16_t)(bits >> 16); // bf16
    }
    bool is_right = !kiln_buffer_new(k, type, COUNT, &from) &&
                    !kiln_write(from, 0, type == KILN_F32 ? (void *)x : narrow, COUNT) &&
                    !kiln_buffer_new(k, type, TWICE, &to) &&
                    !kiln_buffer_new(k, type, 2 * TWICE, &wide);
    kiln_upsample_desc d = {.x = KILN_VIEW(from, PLANES, ROWS, COLUMNS),
                            .out = KILN_VIEW(to, PLANES, 2 * ROWS, 2 * COLUMNS),
                            .mode = mode};
    is_right = is_right && !kiln_upsample_forward(k, &d) && !kiln_read(to, 0, dense, TWICE);
    d.out = KILN_VIEW(wide, PLANES, 2 * ROWS, 2 * COLUMNS);
    d.out.has_strides = true;
    d.out.strides[2] = 2;
    d.out.strides[1] = 4 * COLUMNS;
    d.out.strides[0] = 8 * ROWS * COLUMNS;
    is_right = is_right && !kiln_upsample_forward(k, &d) && !kiln_read(wide, 0, apart, 2 * TWICE);
    for (uint32_t n = 0; n < TWICE && is_right; n++) {
        uint32_t a = 0, b = 0;
        uint8_t *to_a = (uint8_t *)&a + 4 - size, *to_b = (uint8_t *)&b + 4 - size;
        memcpy(to_a, &dense[n * size], size); // bf16 is the upper half of an f32
        memcpy(to_b, &apart[2 * n * size], size);
        bool are_nan = a << 1 > 0xff000000 && b << 1 > 0xff000000;
        is_right = a == b || are_nan; // which NaN is the device's choice
    }
    if (!is_right)
        printf("upsample: results side by side differ from those apart, mode %d\n", (int)mode);
    kiln_buffer_free(from);
    kiln_buffer_free(to);
    kiln_buffer_free(wide);
    return !is_right;
}

// A buffer over memory that begins at no multiple of a pack.
static int foreign(kiln *k, int *passed)
{
    enum { COUNT = 16 };
    static _Alignas(16) float memory[1 + COUNT];
    float out[2 * COUNT];
    kiln_buffer *all = NULL, *part = NULL, *to = NULL;
    for (int n = 0; n <= COUNT; n++)
        memory[n] = (float)n;
    bool is_right = !kiln_buffer_new(k, KILN_F32, 1 + COUNT, &all) &&
                    !kiln_write(all, 0, memory, 1 + COUNT) &&
                    !kiln_buffer_new(k, KILN_F32, 2 * COUNT, &to);
    kiln_wrap_desc wrap = {.type = KILN_F32, .count = COUNT, .host = memory + 1};
    if (kiln_buffer_wrap(k, &wrap, &part)) { // the device's memory, if it takes that
        wrap.host = NULL;
        wrap.address = kiln_buffer_address(all) + sizeof *memory;
        if (kiln_buffer_wrap(k, &wrap, &part)) {
            kiln_buffer_free(all);
            kiln_buffer_free(to);
            return 0;
        }
    }
    kiln_upsample_desc d = {KILN_VIEW(part, COUNT), KILN_VIEW(to, 2 * COUNT),
                            .mode = KILN_UPSAMPLE_NEAREST};
    is_right = is_right && !kiln_upsample_forward(k, &d) && !kiln_read(to, 0, out, 2 * COUNT);
    for (int n = 0; n < 2 * COUNT && is_right; n++)
        is_right = out[n] == memory[1 + n / 2];
    if (!is_right)
        printf("upsample: of memory that begins between two packs: %s\n", kiln_last_error(k)->text);
    kiln_buffer_free(part);
    kiln_buffer_free(all);
    kiln_buffer_free(to);
    *passed += is_right;
    return !is_right;
}

static int more(kiln *k, int *passed)
{
    int failed = foreign(k, passed);
    int apart = 0;
    for (uint32_t n = 0; n < 4; n++)
        apart += spread(k, n & 1 ? KILN_F32 : KILN_BF16,
                        n & 2 ? KILN_UPSAMPLE_LINEAR : KILN_UPSAMPLE_NEAREST);
    *passed += 4 - apart;
    return failed + apart;
}

const op_suite op_suite_upsample = {.name = "upsample",
                                    .cases = cases,
                                    .case_count = sizeof cases / sizeof *cases,
                                    .has_backward = true,
                                    .tensors = tensors,
                                    .call = call,
                                    .reference = reference,
                                    .describe = describe,
                                    .more = more};
