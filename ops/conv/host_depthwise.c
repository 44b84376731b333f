// The gradient by the weights of depthwise convolutions (depthwise_weights.c): when it is possible,
// its parts, the launch. host_tensor.c adds the parts.
#include "ops/conv/host_conv.h"

#define AXES "ops/conv/axes_depthwise.def"
#include "ops/axes.h"
static const op_program program =
    OP_PROGRAM("ops/conv/depthwise_weights.c", "conv_depthwise_weights");

enum { V = 8, MOST_TAPS = 7, MOST_PACKS = 32, THREADS = 256 };

typedef struct plan {
    op_window w;
    uint32_t blocks, lines, parts;
    uint64_t places; // of a part
} plan;

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static bool plan_of(const conv_job *j, const kiln_view *large, const kiln_view *small, plan *p)
{
    enum { BLOCKS = 1056, LEAST = 4 }; // of the device; places of a thread
    op_window *w = &p->w;
    op_window_make(large, small, j->window, w);
    op_window_sizes(j->weight.view, w->taps);
    w->channels = (uint32_t)small->sizes[1];
    if (j->groups != small->sizes[1] || j->groups != large->sizes[1] || j->groups % V ||
        w->taps[2] > MOST_TAPS || w->taps[0] * (uint64_t)w->taps[1] > 65535 || !w->batch)
        return false;
    uint32_t packs = w->channels / V, least = UINT32_MAX;
    for (uint32_t n = MOST_PACKS; n; n /= 2)
        if (ceil_div(packs, n) * n < least) {
            least = (uint32_t)ceil_div(packs, n) * n;
            w->terms = n;
        }
    p->blocks = least / w->terms;
    p->lines = w->taps[0] * w->taps[1];
    uint64_t parts = ceil_div(BLOCKS, (uint64_t)p->blocks * p->lines),
             most = ceil_div(w->batch, THREADS / w->terms * LEAST);
    p->places = ceil_div(w->batch, parts < most ? parts : most);
    p->parts = (uint32_t)ceil_div(w->batch, p->places);
    return true;
}

uint32_t conv_depthwise_weights_parts(const conv_job *j, const kiln_view *large,
                                      const kiln_view *small)
{
    plan p;
    return plan_of(j, large, small, &p) ? p.parts : 0;
}

kiln_status conv_depthwise_weights_launch(kiln *k, const conv_job *j, const kiln_view *large,
                                          const kiln_view *small)
{
    plan p;
    const op_kernel *kernel;
    if (!plan_of(j, large, small, &p))
        return op_refuse(k, j->call, "the kernel for depthwise weights is impossible");
    op_request r = {.program = &program};
    op_set(&r, T, j->type == KILN_F16);
    op_set(&r, SPACE, j->space);
    op_set(&r, LONG, p.w.batch > INT32_MAX);
    op_set(&r, TAPS, p.w.taps[2]);
    kiln_status status = op_kernel_get(k, &r, &kernel);
    const kiln_arg args[] = {kiln_arg_view(*large), kiln_arg_view(*small),
                             kiln_arg_view(j->workspace), kiln_arg_struct(&p.w, sizeof p.w),
                             kiln_arg_i64(KILN_U64, (int64_t)p.places)};
    return status ? status
                  : kiln_launch(kernel->kernel,
                                &(kiln_launch_desc){.grid = {p.blocks, p.lines, p.parts},
                                                    .args = args,
                                                    .arg_count = COUNT(args),
                                                    .stream = j->stream,
                                                    .overlaps_previous = kernel->overlaps});
}
