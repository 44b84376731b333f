// Convolutions in tiles (tiled.c, tiled_weights.c) give the bits of the direct kernel, which the
// cpu device runs.
//     conv_tiled [DEVICE]        (default: cuda)
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kiln/ops.h"

typedef struct shape {
    uint64_t batch, channels, size, outputs, window;
    uint32_t stride, dilation, pad, groups;
    bool is_last;
} shape;

static const shape shapes[] = {
    {2, 20, 9, 24, 3, 1, 1, 1, 1, false},  {3, 33, 10, 17, 3, 2, 1, 1, 1, true},
    {1, 70, 12, 130, 1, 1, 1, 0, 1, true}, {2, 40, 11, 48, 3, 1, 2, 2, 2, false},
    {1, 16, 17, 66, 4, 3, 1, 2, 1, true},  {2, 129, 8, 65, 2, 1, 1, 0, 1, false},
    {2, 1, 9, 40, 3, 1, 1, 1, 1, true},    {1, 3, 13, 70, 3, 1, 1, 1, 1, false},
    {2, 32, 16, 64, 3, 1, 1, 1, 1, true},  {2, 96, 8, 32, 3, 2, 1, 1, 2, false},
    {2, 32, 9, 32, 3, 1, 1, 1, 8, true},   {1, 24, 12, 40, 3, 2, 1, 1, 4, false}, // few channels
    {2, 8, 11, 48, 3, 2, 1, 1, 1, true},   {1, 20, 13, 32, 2, 3, 1, 0, 1, false}, // phases
    {1, 12, 9, 16, 1, 2, 1, 0, 1, true},   {1, 16, 15, 16, 3, 2, 2, 2, 1, false},
    {3, 9, 14, 32, 5, 3, 1, 2, 1, true},   {1, 768, 8, 700, 1, 1, 1, 0, 1, true}, // many weights
    {1, 16, 20, 16, 7, 1, 1, 3, 16, true}, {1, 16, 20, 16, 5, 1, 1, 2, 16, true}, // depthwise
    {2, 16, 19, 16, 3, 1, 1, 1, 16, true}, {2, 6, 21, 6, 5, 2, 1, 2, 6, false}};

enum { X, WEIGHT, BIAS, OUT, DOUT, DX, DWEIGHT, TENSORS };

static size_t sizes_of(const shape *s, uint64_t sizes[TENSORS][4])
{
    uint64_t reach = s->dilation * (s->window - 1) + 1,
             to = (s->size + 2 * s->pad - reach) / s->stride + 1;
    const uint64_t x[4] = {s->batch, s->channels, s->size, s->size},
                   out[4] = {s->batch, s->outputs, to, to},
                   weight[4] = {s->outputs, s->channels / s->groups, s->window, s->window},
                   bias[4] = {s->outputs, 1, 1, 1};
    const uint64_t *all[TENSORS] = {x, weight, bias, out, out, x, weight};
    size_t most = 0;
    for (int n = 0; n < TENSORS; n++) {
        memcpy(sizes[n], all[n], sizeof x);
        size_t count = (size_t)(all[n][0] * all[n][1] * all[n][2] * all[n][3]);
        most = count > most ? count : most;
    }
    return most;
}

// All tensors after the calls, one after the other.
static bool run(kiln *k, const shape *s, bool has_odd, bool has_workspace, float *results)
{
    static const uint32_t to_first[] = {0, 3, 1, 2};
    uint64_t sizes[TENSORS][4], forward = 0, backward = 0;
    size_t most = sizes_of(s, sizes);
    kiln_buffer *buffers[TENSORS] = {NULL}, *scratch = NULL;
    kiln_view v[TENSORS];
    uint32_t state = 1;
    bool is_good = true;
    float *numbers = malloc(most * sizeof *numbers);
    for (int n = 0; n < TENSORS && is_good && numbers; n++) {
        size_t count = (size_t)(sizes[n][0] * sizes[n][1] * sizes[n][2] * sizes[n][3]);
        for (size_t i = 0; i < count; i++) {
            state = state * 1664525u + 1013904223u;
            numbers[i] = (float)(state >> 8) / (1 << 23) - 1;
            if (has_odd && state % 61 == 0) // what is in the padding must not meet these
                numbers[i] = state & 64 ? INFINITY : state & 128 ? -1e-30f : -0.0f;
        }
        is_good = !kiln_buffer_new(k, KILN_F32, count, &buffers[n]) &&
                  !kiln_write(buffers[n], 0, numbers, count);
        const uint64_t last[4] = {sizes[n][0], sizes[n][2], sizes[n][3], sizes[n][1]};
        v[n] =
            kiln_view_of(buffers[n], n == BIAS ? 1 : 4, s->is_last && n != BIAS ? last : sizes[n]);
        if (s->is_last && n != BIAS)
            v[n] = kiln_view_permute(v[n], to_first);
    }
    kiln_window w = {.stride = {s->stride, s->stride},
                     .dilation = {s->dilation, s->dilation},
                     .pad_before = {s->pad, s->pad},
                     .pad_after = {s->pad, s->pad}};
    kiln_conv_desc f = {.x = v[X],
                        .weight = v[WEIGHT],
                        .bias = v[BIAS],
                        .out = v[OUT],
                        .window = w,
                        .groups = s->groups};
    kiln_conv_backward_desc b = {.x = v[X],
                                 .weight = v[WEIGHT],
                                 .dout = v[DOUT],
                                 .dx = v[DX],
                                 .dweight = v[DWEIGHT],
                                 .window = w,
                                 .groups = s->groups};
    is_good = is_good && numbers && !kiln_conv_workspace(k, &f, &forward) &&
              !kiln_conv_backward_workspace(k, &b, &backward);
    uint64_t needed = forward > backward ? forward : backward;
    if (is_good && has_workspace && needed) {
        is_good = !kiln_buffer_new(k, KILN_F32, (size_t)needed, &scratch);
        f.workspace = b.workspace = kiln_view_of(scratch, 1, &needed);
    }
    is_good = is_good && !kiln_conv_forward(k, &f) && !kiln_conv_backward(k, &b);
    for (int n = 0; n < TENSORS && is_good; n++) {
        size_t count = (size_t)(sizes[n][0] * sizes[n][1] * sizes[n][2] * sizes[n][3]);
        is_good = !kiln_read(buffers[n], 0, results + (size_t)n * most, count);
    }
    if (!is_good)
        printf("conv_tiled: %s\n", kiln_last_error(k)->text);
    for (int n = 0; n < TENSORS; n++)
        kiln_buffer_free(buffers[n]);
    kiln_buffer_free(scratch);
    free(numbers);
    return is_good;
}

// NaNs may have any bits.
static bool is_same(float a, float b)
{
    return !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
}

int main(int argc, char **argv)
{
    kiln *k, *cpu;
    int passed = 0, failed = 0;
    if (kiln_open(argc > 1 ? argv[1] : "cuda", &k) || kiln_open("cpu", &cpu)) {
        printf("conv_tiled: %s\n", kiln_last_error(NULL)->text);
        return 77;
    }
    for (size_t n = 0; n < 3 * sizeof shapes / sizeof *shapes; n++) {
        const shape *own = &shapes[n / 3];
        bool has_odd = n % 3 == 1, has_workspace = n % 3 != 2;
        uint64_t sizes[TENSORS][4];
        size_t count = sizes_of(own, sizes) * TENSORS;
        float *want = calloc(count, sizeof *want), *got = calloc(count, sizeof *got);
        // The gradient by depthwise weights has a kernel with parts, and another order, on both.
        bool is_depthwise = own->groups == own->channels, in_parts = is_depthwise && has_workspace;
        bool is_good = want && got && run(cpu, own, has_odd, in_parts, want) &&
                       run(k, own, has_odd, has_workspace, got);
        size_t differs = 0;
        while (is_good && differs < count && is_same(want[differs], got[differs]))
            differs++;
        if (is_good && differs < count)
            printf("conv_tiled: shape %zu%s: number %zu is %a, not %a\n", n / 3,
                   has_odd ? " with infinite numbers" : "", differs, (double)got[differs],
                   (double)want[differs]);
        is_good = is_good && differs == count;
        passed += is_good;
        failed += !is_good;
        free(want);
        free(got);
    }
    printf("conv_tiled: %d passed, %d failed, 0 skipped\n", passed, failed);
    kiln_close(k);
    kiln_close(cpu);
    return failed != 0;
}
