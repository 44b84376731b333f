// Random convolutions on tensor cores, forward and backward, beside the direct kernel with f32 on
// the same device. What surrounds a result must stay as it is.
//     conv_random [DEVICE [COUNT [SEED]]]        (default: cuda)
// Numbers are multiples of 1/32, so all sums are exact in f32 and only the last rounding differs.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kiln/ops.h"

enum { GUARD = 64, MOST = 5 };

static uint32_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

// --- tensors: each in a buffer with GUARD elements before and behind, as `type` and as f32
typedef struct tensor {
    kiln_buffer *narrow, *wide;
    kiln_view views[2]; // of those
    size_t count;
} tensor;

static uint16_t narrowed(kiln_type type, float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    if (type == KILN_BF16)
        return (uint16_t)(u >> 16); // the numbers have few bits
    int e = (int)(u >> 23 & 255) - 127 + 15;
    return (uint16_t)((u >> 31) << 15 | (x == 0 ? 0 : (uint32_t)e << 10 | (u >> 13 & 1023)));
}

static double widened(kiln_type type, uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float x;
    if (type == KILN_F16) {
        int e = h >> 10 & 31;
        double f = e ? 1 + (h & 1023) / 1024.0 : (h & 1023) / 1024.0;
        f = e == 31 ? (double)NAN : ldexp(f, (e ? e : 1) - 15);
        return h >> 15 ? -f : f;
    }
    memcpy(&x, &u, 4);
    return (double)x;
}

static uint16_t guard_of(size_t i)
{
    return (uint16_t)(0x1234 + i % 77);
}

// is_last: channels are contiguous. A result begins as guards, too.
static bool make(kiln *k, kiln_type type, uint32_t rank, const uint64_t *sizes, bool is_last,
                 tensor *t)
{
    uint64_t placed[MOST];
    uint32_t order[MOST] = {0, rank - 1};
    for (uint32_t d = 0; d < rank; d++) {
        placed[d] = !is_last || !d ? sizes[d] : d + 1 < rank ? sizes[d + 1] : sizes[1];
        order[d] = d < 2 ? order[d] : d - 1;
    }
    t->count = 1;
    for (uint32_t d = 0; d < rank; d++)
        t->count *= (size_t)sizes[d];
    size_t all = t->count + 2 * GUARD;
    uint16_t *narrow = calloc(all, 2);
    float *wide = calloc(all, 4);
    if (!narrow || !wide || kiln_buffer_new(k, type, all, &t->narrow) ||
        kiln_buffer_new(k, KILN_F32, all, &t->wide))
        return false;
    for (size_t i = 0; i < all; i++) {
        bool is_inside = i >= GUARD && i < GUARD + t->count;
        float x = ((float)draw(65) - 32) / 32;
        narrow[i] = is_inside ? narrowed(type, x) : guard_of(i);
        wide[i] = x;
    }
    bool is_good = !kiln_write(t->narrow, 0, narrow, all) && !kiln_write(t->wide, 0, wide, all);
    for (int n = 0; n < 2; n++) {
        kiln_view v = kiln_view_of(n ? t->wide : t->narrow, rank, placed);
        v.first = GUARD;
        t->views[n] = is_last ? kiln_view_permute(v, order) : v;
    }
    free(narrow);
    free(wide);
    return is_good;
}

static void drop(tensor *t)
{
    kiln_buffer_free(t->narrow);
    kiln_buffer_free(t->wide);
}

// Elements that differ, or guards that do not stand.
static size_t wrong(kiln_type type, const tensor *t)
{
    size_t all = t->count + 2 * GUARD, bad = 0;
    uint16_t *narrow = calloc(all, 2);
    float *wide = calloc(all, 4);
    if (!narrow || !wide || kiln_read(t->narrow, 0, narrow, all) ||
        kiln_read(t->wide, 0, wide, all))
        bad++;
    double unit = type == KILN_F16 ? 0x1p-10 : 0x1p-7;
    for (size_t i = 0; i < all && !bad; i++) {
        bool is_inside = i >= GUARD && i < GUARD + t->count;
        double got = widened(type, narrow[i]), want = (double)wide[i];
        bad += is_inside ? !(fabs(got - want) <= unit * fabs(want) + unit / 16)
                         : narrow[i] != guard_of(i);
    }
    free(narrow);
    free(wide);
    return bad;
}

// --- a convolution
typedef struct random_case {
    uint32_t space, groups;
    uint64_t x[MOST], weight[MOST], out[MOST];
    kiln_window w;
    bool is_transposed, has_bias, is_last, is_last_weight;
    bool is_depthwise; // only its gradient by the weights has a kernel here
    kiln_type type;
    char text[256];
} random_case;

static void draw_case(random_case *c)
{
    static const uint32_t channels[] = {3, 4, 8, 16, 24, 40, 64, 72, 136},
                          groups[] = {1, 1, 1, 2, 3};
    *c = (random_case){.space = 1 + (draw(4) != 0), .groups = groups[draw(5)]};
    c->is_transposed = draw(4) == 0;
    c->has_bias = draw(2);
    c->is_last = draw(4) != 0;
    c->is_last_weight = draw(4) != 0;
    c->type = draw(2) ? KILN_F16 : KILN_BF16;
    uint64_t large[MOST], small[MOST];
    large[0] = small[0] = 1 + draw(draw(3) ? 3 : 9);
    uint32_t per_large = channels[draw(9)], per_small = channels[draw(9)];
    if (c->groups > 1 && draw(2))
        per_large = per_small = 64;
    if (draw(6) == 0) {
        c->is_depthwise = c->is_last = true;
        c->groups = 8 * (1 + draw(12));
        per_large = per_small = 1;
    }
    bool is_point = draw(5) == 0; // a matrix product
    if (is_point) {
        static const uint32_t many[] = {8, 64, 136, 200, 320};
        c->groups = 1;
        c->space = 2;
        c->is_depthwise = false;
        c->is_last = c->is_last_weight = true;
        per_large = many[draw(5)];
        per_small = many[draw(5)];
        if (draw(2)) { // so many places that the sums of both gradients are made side by side
            large[0] = small[0] = 200;
            per_large = per_small = 136;
        }
    }
    large[1] = per_large * (uint64_t)c->groups;
    small[1] = per_small * (uint64_t)c->groups;
    c->weight[0] = small[1];
    c->weight[1] = per_large;
    for (uint32_t d = 0; d < c->space; d++) {
        uint32_t taps = 1 + draw(draw(4) ? 4 : 8), stride = 1 + draw(3);
        if (is_point)
            taps = stride = 1;
        uint32_t dilation = draw(3) ? 1 : 2, reach = dilation * (taps - 1) + 1;
        c->w.stride[d] = stride;
        c->w.dilation[d] = dilation;
        c->w.pad_before[d] = is_point ? 0 : draw(reach + 1);
        c->w.pad_after[d] = is_point ? 0 : draw(reach);
        uint32_t pads = c->w.pad_before[d] + c->w.pad_after[d];
        large[2 + d] = 1 + draw(12) + (reach > pads ? reach - pads : 0);
        small[2 + d] = (large[2 + d] + pads - reach) / stride + 1;
        c->weight[2 + d] = taps;
    }
    memcpy(c->x, c->is_transposed ? small : large, sizeof c->x);
    memcpy(c->out, c->is_transposed ? large : small, sizeof c->out);
    int at = snprintf(c->text, sizeof c->text, "%s batch %u, %u channels to %u, %u groups",
                      kiln_type_name(c->type), (unsigned)large[0], (unsigned)large[1],
                      (unsigned)small[1], c->groups);
    for (uint32_t d = 0; d < c->space; d++)
        at += snprintf(c->text + at, sizeof c->text - (size_t)at,
                       "; %u elements, window %u, stride %u, dilation %u, pad %u+%u",
                       (unsigned)large[2 + d], (unsigned)c->weight[2 + d], c->w.stride[d],
                       c->w.dilation[d], c->w.pad_before[d], c->w.pad_after[d]);
    snprintf(c->text + at, sizeof c->text - (size_t)at, "%s%s%s%s",
             c->is_transposed ? ", transposed" : "", c->has_bias ? ", bias" : "",
             c->is_last ? "" : ", channels first",
             c->is_last_weight ? "" : ", weights of PyTorch's order");
}

enum { X, WEIGHT, BIAS, OUT, DOUT, DX, DWEIGHT, DBIAS, TENSORS };

static bool make_all(kiln *k, const random_case *c, tensor *t)
{
    const uint64_t *sizes[TENSORS] = {c->x,   c->weight, c->out,    c->out,
                                      c->out, c->x,      c->weight, c->out};
    uint32_t rank = c->space + 2;
    for (int n = 0; n < TENSORS; n++) {
        bool is_bias = n == BIAS || n == DBIAS, is_weight = n == WEIGHT || n == DWEIGHT;
        if (!make(k, c->type, is_bias ? 1 : rank, is_bias ? c->out + 1 : sizes[n],
                  !is_bias && (is_weight ? c->is_last_weight : c->is_last), &t[n]))
            return false;
    }
    return true;
}

// n: 0 narrow on tensor cores, 1 wide and direct.
static kiln_status run(kiln *k, const random_case *c, const tensor *t, int n, kiln_buffer **scratch)
{
    kiln_view bias = t[BIAS].views[n], dbias = t[DBIAS].views[n], none = {0};
    kiln_conv_kernel kernel = n ? KILN_CONV_DIRECT : KILN_CONV_TENSOR;
    kiln_conv_desc f = {.x = t[X].views[n],
                        .weight = t[WEIGHT].views[n],
                        .out = t[OUT].views[n],
                        .bias = c->has_bias ? bias : none,
                        .window = c->w,
                        .groups = c->groups,
                        .is_transposed = c->is_transposed,
                        .kernel = kernel};
    kiln_conv_backward_desc b = {.x = f.x,
                                 .weight = f.weight,
                                 .dout = t[DOUT].views[n],
                                 .dx = t[DX].views[n],
                                 .dweight = t[DWEIGHT].views[n],
                                 .dbias = c->has_bias ? dbias : none,
                                 .window = c->w,
                                 .groups = c->groups,
                                 .is_transposed = c->is_transposed,
                                 .kernel = kernel};
    uint64_t forward = 0, backward = 0;
    if (c->is_depthwise && !n) { // what has none comes first
        kiln_conv_backward_desc x = b;
        x.dweight = x.dbias = b.dx = none;
        f.kernel = x.kernel = KILN_CONV_DIRECT;
        if (kiln_conv_backward(k, &x))
            return KILN_E_BAD_ARGUMENT;
    }
    kiln_status status = kiln_conv_workspace(k, &f, &forward);
    if (!status)
        status = kiln_conv_backward_workspace(k, &b, &backward);
    uint64_t needed = forward > backward ? forward : backward;
    if (!status && needed)
        status = kiln_buffer_new(k, KILN_F32, (size_t)needed, scratch);
    if (!status && needed)
        f.workspace = b.workspace = kiln_view_of(*scratch, 1, &needed);
    if (!status)
        status = kiln_conv_forward(k, &f);
    return status ? status : kiln_conv_backward(k, &b);
}

static int passed, failed, skipped;

static void test(kiln *k, const random_case *c)
{
    static const struct {
        int which;
        const char *name;
    } results[] = {{OUT, "out"}, {DX, "dx"}, {DWEIGHT, "dweight"}, {DBIAS, "dbias"}};
    tensor t[TENSORS] = {{0}};
    kiln_buffer *scratch[2] = {NULL, NULL};
    bool is_made = make_all(k, c, t);
    kiln_status status = is_made ? run(k, c, t, 0, &scratch[0]) : KILN_OK;
    bool is_impossible = status && strstr(kiln_last_error(k)->text, "impossible here");
    if (is_impossible) {
        printf("skipped: %s: the kernel cannot\n", c->text);
        skipped++;
    }
    if (!is_made || (status && !is_impossible) || (!status && run(k, c, t, 1, &scratch[1]))) {
        printf("%s: %s\n", c->text, kiln_last_error(k)->text);
        failed++;
    } else if (!status) {
        for (size_t n = 0; n < sizeof results / sizeof *results; n++) {
            if (results[n].which == DBIAS && !c->has_bias)
                continue;
            size_t bad = wrong(c->type, &t[results[n].which]);
            if (bad)
                printf("%s: %s is wrong\n", c->text, results[n].name);
            failed += bad != 0;
            passed += bad == 0;
        }
    }
    for (int n = 0; n < TENSORS; n++)
        drop(&t[n]);
    kiln_buffer_free(scratch[0]);
    kiln_buffer_free(scratch[1]);
}

int main(int argc, char **argv)
{
    kiln *k;
    kiln_device_info info;
    int count = argc > 2 ? atoi(argv[2]) : 40;
    state = argc > 3 ? (uint32_t)atoi(argv[3]) : 1;
    if (kiln_open(argc > 1 ? argv[1] : "cuda", &k)) {
        printf("conv_random: %s\n", kiln_last_error(NULL)->text);
        return 77;
    }
    if (kiln_device_info_of(k, &info) || !info.caps.has_nv) {
        printf("conv_random: this device has no tensor cores\n");
        kiln_close(k);
        return 77;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int n = 0; n < count; n++) {
        random_case c;
        draw_case(&c);
        test(k, &c);
    }
    if (skipped * 2 > count) {
        printf("conv_random: %d of %d were not possible\n", skipped, count);
        failed++;
    }
    printf("conv_random: %d passed, %d failed, %d skipped\n", passed, failed, skipped);
    kiln_close(k);
    return failed != 0;
}
