// Depthwise convolutions: which kernels are possible (depthwise_strips.c and depthwise_weights.c
// for channels-last tensors, depthwise_planes.c and depthwise_planes_weights.c for others), how
// results are cut into strips, and the launches. Start reading at conv_depthwise_slide.
#include "ops/conv/host_conv.h"

#include "ops/launch.h"
#include "rt/memory/view.h"

#define AXES "ops/conv/axes_depthwise.def"
#include "ops/axes.h"
static const op_program strips_program = OP_PROGRAM("ops/conv/depthwise_strips.c", "conv_strips"),
                        planes_program = OP_PROGRAM("ops/conv/depthwise_planes.c", "conv_planes"),
                        strips_weights =
                            OP_PROGRAM("ops/conv/depthwise_weights.c", "conv_depthwise_weights"),
                        planes_weights = OP_PROGRAM("ops/conv/depthwise_planes_weights.c",
                                                    "conv_planes_weights"),
                        join = OP_PROGRAM("ops/conv/depthwise_join.c", "conv_depthwise_join");

enum { THREADS = 256, MOST_TAPS = 7, MOST_PARTS = 256, LAST = 2 };

typedef struct strips { // of the kernels
    uint32_t packs, length, spread, shift;
} strips;

typedef struct plan {
    op_window w;
    strips s;
    bool is_last;                                       // channels are contiguous
    uint32_t along, width, stride, pixels, lines, wide; // wide: columns of a thread
    uint32_t blocks, parts; // of the weights' gradient: blocks of channels, parts of the places
} plan;

uint32_t conv_depthwise_width(kiln_type type, const kiln_view *a, const int64_t a_steps[5],
                              const kiln_view *b, const int64_t b_steps[5])
{
    const kiln_view *views[] = {a, b};
    const int64_t *steps[] = {a_steps, b_steps};
    uint64_t size = kiln_type_size(type);
    uint32_t width = 16 / (uint32_t)size;
    for (uint32_t n = 0; n < 2; n++)
        while (width > 1) {
            bool is_right = steps[n][1] == 1 && views[n]->sizes[1] % width == 0 &&
                            view_is_aligned(views[n], width * size) && steps[n][0] % width == 0;
            for (uint32_t d = 2; d < 5; d++)
                is_right = is_right && steps[n][d] % width == 0;
            if (is_right)
                break;
            width /= 2;
        }
    return width;
}

// Elements that a strip reads along its dimension (strips.h).
static uint32_t line_of(const plan *p, uint32_t pixels, bool is_inverse)
{
    uint32_t taps = p->w.taps[p->along];
    return !p->stride   ? taps
           : is_inverse ? (pixels - 1) / p->stride + (taps - 1) / p->stride + 1
                        : (pixels - 1) * p->stride + taps;
}

// Registers that the numbers of a thread take, of `size` bytes in memory.
static uint32_t registers_of(const plan *p, uint32_t size, uint32_t pixels, bool is_inverse,
                             bool to_weights)
{
    uint32_t line = line_of(p, pixels, is_inverse), taps = p->w.taps[2], width = p->width,
             pack = (width * size + 3) / 4;
    if (!p->is_last)
        return line * taps + taps * p->w.taps[1] + pixels;
    return to_weights ? (line * p->lines + pixels) * pack + (p->lines * taps + pixels) * width
                      : 2 * line * pack + (pixels + taps) * width;
}

// Strips as long as registers and `most` allow.
static void cut(plan *p, uint32_t size, uint32_t most, bool is_inverse, bool to_weights)
{
    enum { MOST_STRIDE = 3, IN_STRIPS = 74, IN_PLANES = 47, OF_WEIGHTS = 96, OF_LINES = 150 };
    uint32_t d = p->along, stride = p->w.stride[d], dilation = p->w.dilation[d];
    uint32_t room = !p->is_last    ? IN_PLANES
                    : !to_weights  ? IN_STRIPS
                    : p->lines > 1 ? OF_LINES
                                   : OF_WEIGHTS;
    most = most < p->w.to_space[d] ? most : p->w.to_space[d];
    bool is_fixed = stride <= MOST_STRIDE && (stride == 1 || dilation == 1);
    p->stride = is_fixed ? stride : 0;
    p->pixels = !is_fixed ? 1 : is_inverse && stride == 3 ? 3 : 4;
    while (p->pixels > 1 &&
           (p->pixels > most || registers_of(p, size, p->pixels, is_inverse, to_weights) > room))
        p->pixels /= 2;
    if (p->pixels == 1)
        p->stride = 0;
    p->s.spread = p->stride == 1 ? dilation : 1;
    p->s.shift = is_inverse && p->stride > 1 ? p->w.pad[d] % p->stride : 0;
    p->s.length =
        (uint32_t)(p->s.spread *
                   op_ceil_div(op_ceil_div((uint64_t)p->w.to_space[d] + p->s.shift, p->s.spread),
                               p->pixels));
}

// Packs of channels of a block: about 128 bytes, and few that are in vain.
static uint32_t packs_of(const plan *p, uint32_t size)
{
    enum { BYTES = 128, MOST = 32 };
    uint32_t packs = p->w.channels / p->width, wanted = BYTES / (p->width * size), best = 0;
    uint64_t least = UINT64_MAX;
    for (uint32_t n = wanted < MOST ? wanted : MOST; n <= 2 * wanted && n <= MOST; n++) {
        uint64_t waste = op_ceil_div(packs, n) * THREADS / (THREADS / n); // threads for a strip
        if (waste < least) {
            least = waste;
            best = n;
        }
    }
    return packs < best ? packs : best;
}

// w is filled in but for what this decides; false: no kernel of this file is possible.
static bool plan_of(const conv_job *j, const kiln_view *from, const kiln_view *to, bool to_weights,
                    plan *p)
{
    const op_window *w = &p->w;
    if (j->groups != from->sizes[1] || j->groups != to->sizes[1] || w->taps[2] > MOST_TAPS ||
        !w->batch)
        return false;
    p->is_last = w->from[1] == 1 && w->to[1] == 1 && w->channels > 1;
    p->along = p->is_last ? LAST : 1;
    p->lines = 1;
    if (!p->is_last)
        return w->taps[1] == w->taps[2] || w->taps[1] == 1;
    p->width = conv_depthwise_width(j->type, from, w->from, to, w->to);
    if (w->taps[2] > 5 && p->width > 4)
        p->width = 4;
    p->s.packs = packs_of(p, (uint32_t)kiln_type_size(j->type));
    if (to_weights && w->taps[1] == 3 && w->taps[2] <= 3)
        p->lines = 3;
    return true;
}

static void set_axes(const conv_job *j, const plan *p, op_request *r)
{
    op_set(r, T, conv_type_axis(j->type));
    op_set(r, SPACE, j->space);
    op_set(r, TAPS, p->w.taps[2]);
    op_set(r, STRIDE, p->stride);
    op_set(r, PIXELS, p->pixels);
    if (p->is_last)
        op_set(r, V, p->width);
    else
        op_set(r, FLAT, p->w.taps[1] != p->w.taps[2]);
}

// --- from the large tensor to the small one, or back
static uint64_t strip_count(const plan *p)
{
    const op_window *w = &p->w;
    uint64_t count = w->batch / w->to_space[p->along] * p->s.length;
    return p->is_last ? count
                      : count / w->to_space[2] * op_ceil_div(w->to_space[2], p->wide) * w->channels;
}

// Two columns where there are enough of them, and registers.
static uint32_t wide_of(const plan *p, uint64_t most)
{
    enum { LEAST = 8, MOST_WIDE_TAPS = 3 };
    const op_window *w = &p->w;
    bool is_wide = !p->is_last && p->pixels == 4 && p->stride == 1 && most >= LEAST &&
                   w->taps[2] <= MOST_WIDE_TAPS && w->taps[1] == w->taps[2] && w->stride[2] == 1 &&
                   w->dilation[2] == 1 && w->to_space[2] >= LEAST;
    return is_wide ? 2 : 1;
}

// Fewer channels leave registers for longer strips.
static void narrow(plan *p, uint32_t width, uint32_t size, uint32_t longest, bool is_inverse)
{
    p->width = width;
    p->s.packs = packs_of(p, size);
    cut(p, size, longest, is_inverse, false);
}

kiln_status conv_depthwise_slide(kiln *k, const conv_job *j, bool is_inverse, const op_window *w,
                                 bool *is_done)
{
    // MANY: of a multiprocessor
    enum { MANY = 512, FEW = 64, MOST_SHARED = 40960, WAVES = 4, FEW_TAPS = 3 };
    const kiln_view *from = is_inverse ? j->small.view : j->large.view,
                    *to = is_inverse ? j->large.view : j->small.view;
    bool has_bias = j->bias.view && j->bias.view->buffer;
    const kiln_device_info *info;
    plan p = {.w = *w};
    *is_done = false;
    if (!plan_of(j, from, to, false, &p))
        return KILN_OK;
    bool has_several = !k->caps.is_host && !op_device(k, &info);
    uint64_t each = w->count / (p.is_last ? p.width : 1),
             most = each / (has_several ? (uint64_t)MANY * info->multiprocessors : FEW);
    uint32_t size = (uint32_t)kiln_type_size(j->type), longest = most < 4 ? (uint32_t)most : 4;
    cut(&p, size, longest, is_inverse, false);
    if (p.is_last && p.pixels == 1 && p.width > 4)
        narrow(&p, 4, size, longest, is_inverse);
    if (p.is_last && w->taps[2] > FEW_TAPS)
        for (uint32_t width = p.width / 2; width * size >= 4; width /= 2) {
            plan t = p;
            narrow(&t, width, size, longest, is_inverse);
            p = t.pixels > p.pixels ? t : p;
        }
    p.wide = j->type == KILN_F64 ? 1 : wide_of(&p, most);
    uint64_t taps = (uint64_t)w->taps[0] * w->taps[1] * w->taps[2],
             bytes = taps * p.s.packs * p.width * (j->type == KILN_F64 ? 8 : 4);
    if (p.is_last && bytes > MOST_SHARED)
        return KILN_OK;
    *is_done = true;
    p.w.count = strip_count(&p);
    op_request r = {.program = p.is_last ? &strips_program : &planes_program};
    set_axes(j, &p, &r);
    op_set(&r, INVERSE, is_inverse);
    op_set(&r, HAS_BIAS, has_bias);
    if (has_bias)
        op_set(&r, BIAS, conv_type_axis(kiln_view_type(*j->bias.view)));
    op_set(&r, ACTIVATION, j->activation);
    if (!p.is_last)
        op_set(&r, WIDE, p.wide);
    op_set(&r, LONG, p.w.count > INT32_MAX);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(k, &r, &kernel);
    if (status)
        return status;
    uint64_t blocks = op_ceil_div(p.w.count, THREADS), across = 1;
    if (p.is_last) {
        across = op_ceil_div(w->channels / p.width, p.s.packs);
        blocks = op_ceil_div(p.w.count, THREADS / p.s.packs);
        uint64_t turns = blocks * across / (WAVES * (kernel->resident ? kernel->resident : 1));
        blocks = op_ceil_div(blocks, turns ? turns : 1);
    }
    if (blocks > INT32_MAX || across > UINT16_MAX)
        return error_set(k, KILN_E_LAUNCH, K6015, "%s: %llu results are too many for one launch",
                         j->call, (unsigned long long)w->count);
    kiln_arg args[6] = {kiln_arg_view(*from), kiln_arg_view(*j->weight.view), kiln_arg_view(*to)};
    uint32_t count = 3;
    if (has_bias)
        args[count++] = kiln_arg_view(*j->bias.view);
    args[count++] = kiln_arg_struct(&p.w, sizeof p.w);
    args[count++] = kiln_arg_struct(&p.s, sizeof p.s);
    return kiln_launch(kernel->kernel,
                       &(kiln_launch_desc){.grid = {(uint32_t)blocks, (uint32_t)across},
                                           .shared_bytes = p.is_last ? (size_t)bytes : 0,
                                           .args = args,
                                           .arg_count = count,
                                           .stream = j->stream,
                                           .overlaps_previous = kernel->overlaps});
}

// --- the gradient by the weights
// What is decided here decides the order of the sums: sizes, and nothing of the device.
static bool plan_weights(const conv_job *j, const kiln_view *large, const kiln_view *small, plan *p)
{
    enum {
        BLOCKS = 396,
        LEAST = 4
    }; // that run at the same time on a large GPU; strips of a thread
    *p = (plan){.parts = 0};
    op_window_make(large, small, j->window, &p->w);
    op_window_sizes(j->weight.view, p->w.taps);
    op_window_steps(j->weight.view, p->w.weight);
    p->w.channels = (uint32_t)small->sizes[1];
    if (j->kernel == KILN_CONV_DIRECT || j->type == KILN_F64 ||
        !plan_of(j, large, small, true, p) || p->w.channels > INT32_MAX ||
        p->w.taps[0] * (uint64_t)p->w.taps[1] > UINT16_MAX)
        return false;
    cut(p, (uint32_t)kiln_type_size(j->type), 4, false, true);
    uint64_t lines = p->is_last ? p->w.taps[0] * p->w.taps[1] / p->lines : p->w.taps[0],
             count = p->w.batch / p->w.to_space[p->along] * p->s.length, rows = THREADS;
    p->blocks = p->w.channels;
    if (p->is_last) {
        rows = (p->lines > 1 ? THREADS / 2 : THREADS) / p->s.packs;
        p->blocks = (uint32_t)op_ceil_div(p->w.channels / p->width, p->s.packs);
    }
    uint64_t parts = BLOCKS / (p->blocks * lines), most = op_ceil_div(count, rows * LEAST);
    parts = parts ? parts : 1;
    most = most < MOST_PARTS ? most : MOST_PARTS;
    p->w.batch = op_ceil_div(count, parts < most ? parts : most);
    p->w.count = count;
    p->parts = (uint32_t)op_ceil_div(count, p->w.batch);
    return p->blocks <= (p->is_last ? UINT16_MAX : INT32_MAX);
}

uint64_t conv_depthwise_workspace(const conv_job *j, const kiln_view *large, const kiln_view *small)
{
    plan p;
    return plan_weights(j, large, small, &p) ? p.parts * kiln_view_count(*j->weight.view) : 0;
}

static kiln_status add_parts(kiln *k, const conv_job *j, const plan *p)
{
    enum { EACH = 32 }; // weights of a block
    op_request r = {.program = &join};
    op_set(&r, T, conv_type_axis(j->type));
    const kiln_arg args[] = {kiln_arg_view(j->workspace), kiln_arg_view(*j->weight.view),
                             kiln_arg_struct(&p->w, sizeof p->w), kiln_arg_i64(KILN_U32, p->parts)};
    uint64_t blocks = op_ceil_div(kiln_view_count(*j->weight.view), EACH);
    return op_launch_blocks(k, &r, blocks, args, COUNT(args), j->stream);
}

kiln_status conv_depthwise_weights(kiln *k, const conv_job *j, const kiln_view *large,
                                   const kiln_view *small, bool *is_done)
{
    plan p;
    const op_kernel *kernel;
    *is_done = j->workspace.buffer && plan_weights(j, large, small, &p);
    if (!*is_done)
        return KILN_OK;
    op_request r = {.program = p.is_last ? &strips_weights : &planes_weights};
    set_axes(j, &p, &r);
    op_set(&r, LONG, p.w.count > INT32_MAX);
    if (p.is_last)
        op_set(&r, LINES, p.lines);
    uint32_t lines = p.is_last ? p.w.taps[0] * p.w.taps[1] / p.lines : p.w.taps[0];
    kiln_status status = op_kernel_get(k, &r, &kernel);
    const kiln_arg args[] = {kiln_arg_view(*large), kiln_arg_view(*small),
                             kiln_arg_view(j->workspace), kiln_arg_struct(&p.w, sizeof p.w),
                             kiln_arg_struct(&p.s, sizeof p.s)};
    if (!status)
        status = kiln_launch(kernel->kernel,
                             &(kiln_launch_desc){.grid = {p.is_last ? lines : p.blocks,
                                                          p.is_last ? p.blocks : lines, p.parts},
                                                 .args = args,
                                                 .arg_count = COUNT(args),
                                                 .stream = j->stream,
                                                 .overlaps_previous = kernel->overlaps});
    return status ? status : add_parts(k, j, &p);
}
