// The gradient of a convolution by its weights for Hopper (weights_sm90.c): when it is possible,
// its tiles and chunks, the launch. host_tensor.c adds the parts. Start reading at
// conv_sm90_weights_launch.
#include "ops/conv/host_conv.h"

#define AXES "ops/conv/axes_sm90.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/conv/weights_sm90.c", "conv_weights_sm90");

enum { W = 2, H = 1, PLACES = 64, PANEL = 64, LEAST_BOX = 8, MOST_STEP = 8 };

typedef struct weights_shape { // as weights_sm90.c has it
    uint32_t tiles_n, box_w, box_h, box_n, boxes, across, down, stages, to_n;
    uint32_t taps_w, taps, blocks;
    int32_t stride_w, stride_h, pad_w, pad_h, dilation_w, dilation_h;
    uint32_t per_group, terms;
    conv_weights_to to;
} weights_shape;

typedef struct plan {
    weights_shape s;
    op_window w;
    uint32_t m, n, share, parts; // chunks of the sum: parts of `share` blocks each
    uint32_t loaders;            // blocks that load for each other
    uint64_t blocks;             // of one chunk and group
    bool is_row;                 // all places are one row: of these
    kiln_view large, small;
} plan;

static uint32_t ceil_div(uint64_t a, uint64_t b)
{
    return (uint32_t)((a + b - 1) / b);
}

// The largest power of two that divides the size, and is at most that.
static uint32_t even_part(uint64_t size, uint32_t most)
{
    uint32_t part = 1;
    while (part < most && size % (2 * (uint64_t)part) == 0)
        part *= 2;
    return part;
}

static bool has_steps(const int64_t steps[5], const uint32_t space[WINDOW_SPACE], uint64_t batch)
{
    bool is_right = batch <= 1 || steps[0] > 0;
    for (uint32_t d = 0; d < WINDOW_SPACE; d++)
        is_right = is_right && (space[d] == 1 || steps[2 + d] > 0);
    return is_right;
}

// About how many cycles it takes (H200, ResNet-50). A stage multiplies 64 x 8 x 16 in 4 cycles, or
// loads so many bytes in one; sums of a cluster are exchanged, those of parts go through memory.
static uint64_t cycles_of(const plan *p, uint32_t groups, uint64_t room)
{
    enum {
        LOADED = 38,
        LOADED_SQUARE = 47, // for tiles of so many numbers
        SQUARE = 128 * 128,
        BEGIN = 1500,
        PUT = 8, // numbers into shared memory, and from there
        EXCHANGE = 500,
        EXCHANGED = 16, // numbers of each block
        LARGE = 24576,  // a larger tile takes longer
        LARGER = 6000,
        ADD = 11000,
        ADDED = 300 // numbers of the whole device
    };
    uint64_t numbers = (uint64_t)p->m * p->n, chunks = (uint64_t)p->share * p->parts;
    uint64_t products = p->m / 64 * p->n * 2,
             loads = (p->m + p->n) * 128 / (numbers == SQUARE ? LOADED_SQUARE : LOADED);
    uint64_t cycles = BEGIN + ceil_div(p->s.stages, chunks) * (products > loads ? products : loads);
    cycles += p->share > 1
                  ? EXCHANGE + numbers * p->share / EXCHANGED + (numbers > LARGE ? LARGER : 0)
                  : numbers / PUT;
    cycles *= ceil_div(p->blocks * groups * chunks, room);
    if (p->parts > 1)
        cycles +=
            ADD + p->parts * (uint64_t)p->s.per_group * groups * p->s.taps * p->s.terms / ADDED;
    return cycles;
}

// Channels of a tile, blocks of a cluster and parts of the sum.
static void pick(plan *p, uint32_t groups, uint32_t multiprocessors)
{
    enum { LEAST_STAGES = 4, MOST_SHARE = 8 };
    static const struct {
        uint32_t m, n;
    } tiles[] = {{128, 256}, {128, 192}, {128, 128}, {128, 64},
                 {64, 256},  {64, 192},  {64, 128},  {64, 64}};
    const uint64_t panels = (uint64_t)p->s.taps * p->s.blocks;
    uint64_t least = UINT64_MAX;
    plan t = *p, best = *p;
    for (size_t i = 0; i < COUNT(tiles); i++)
        for (t.share = 1; t.share <= MOST_SHARE; t.share++) {
            t.m = tiles[i].m;
            t.n = tiles[i].n;
            t.s.tiles_n = ceil_div(panels, t.n / PANEL);
            t.loaders = 1;
            t.blocks = (uint64_t)t.s.tiles_n * ceil_div(p->s.per_group, t.m);
            uint64_t room = conv_sm90_room(multiprocessors, t.share);
            uint64_t fit = room / (t.blocks * groups * t.share);
            uint32_t most = ceil_div(p->s.stages, LEAST_STAGES * t.share);
            if (t.share > 1 && (fit < 1 || p->s.stages < t.share * LEAST_STAGES))
                break;
            // As many parts as fit, or one, and nothing to add.
            for (uint32_t tries = 0; tries < 2; tries++) {
                t.parts = tries || fit < 1 ? 1 : fit < most ? (uint32_t)fit : most;
                uint64_t cycles = cycles_of(&t, groups, room);
                if (cycles < least) {
                    least = cycles;
                    best = t;
                }
            }
        }
    *p = best;
}

// A row of places, for both gradients: small tiles, one for each multiprocessor. The kernel for the
// operand adds their parts. False: that is no faster, or was not measured (H200, ResNet-50).
static bool pick_row(plan *p, uint32_t multiprocessors)
{
    enum { LEAST_WEIGHTS = 16384, LEAST_STAGES = 24, LEAST_OF_PART = 4, SMALL = 64 };
    plan t = *p;
    t.m = t.n = SMALL;
    t.share = t.loaders = 1;
    if (t.s.per_group > SMALL && t.s.terms > SMALL) {
        bool is_one = (uint64_t)t.s.per_group * t.s.terms > multiprocessors / 2 * 8192;
        t.m = is_one ? 128 : 64; // one part, or several with tiles that load for each other
        t.n = is_one ? 64 : 128;
        t.loaders = is_one ? 1 : 2;
    }
    t.s.tiles_n = ceil_div(t.s.blocks, t.n / PANEL);
    t.blocks =
        (uint64_t)t.s.tiles_n * ceil_div(ceil_div(t.s.per_group, t.m), t.loaders) * t.loaders;
    uint64_t fit = conv_sm90_room(multiprocessors, t.loaders) / t.blocks;
    if (fit < 1 || t.s.stages < LEAST_STAGES || (uint64_t)t.s.per_group * t.s.terms < LEAST_WEIGHTS)
        return false;
    uint32_t most = t.s.stages / LEAST_OF_PART;
    t.parts = fit < most ? (uint32_t)fit : most;
    *p = t;
    return true;
}

// The boxes of the tensors p->large and p->small. False: there are none.
static bool shape_of(const conv_job *j, plan *p)
{
    const kiln_view *large = &p->large, *small = &p->small;
    op_window *w = &p->w;
    op_window_make(large, small, j->window, w);
    op_window_sizes(j->weight.view, w->taps);
    uint32_t columns = p->is_row ? PLACES : even_part(w->to_space[W], PLACES),
             rows = even_part(w->to_space[H], PLACES / columns),
             images = even_part(small->sizes[0], PLACES / columns / rows);
    uint32_t box = columns * rows * images;
    uint64_t boxes = ceil_div(kiln_view_count(*small) / small->sizes[1], box);
    if (box < LEAST_BOX || boxes > INT32_MAX || small->sizes[0] > INT32_MAX ||
        w->stride[W] > MOST_STEP || w->stride[H] > MOST_STEP || w->stride[W] * columns > 256 ||
        w->stride[H] * rows > 256 || !has_steps(w->from, w->from_space, large->sizes[0]) ||
        !has_steps(w->to, w->to_space, small->sizes[0]))
        return false;
    p->s = (weights_shape){.box_w = columns,
                           .box_h = rows,
                           .box_n = images,
                           .boxes = PLACES / box,
                           .across = w->to_space[W] / columns,
                           .down = w->to_space[H] / rows,
                           .stages = ceil_div(boxes, PLACES / box),
                           .to_n = (uint32_t)small->sizes[0],
                           .taps_w = w->taps[W],
                           .taps = w->taps[W] * w->taps[H],
                           .stride_w = (int32_t)w->stride[W],
                           .stride_h = (int32_t)w->stride[H],
                           .pad_w = (int32_t)w->pad[W],
                           .pad_h = (int32_t)w->pad[H],
                           .dilation_w = (int32_t)w->dilation[W],
                           .dilation_h = (int32_t)w->dilation[H],
                           .per_group = (uint32_t)(small->sizes[1] / j->groups),
                           .terms = (uint32_t)(large->sizes[1] / j->groups)};
    p->s.blocks = ceil_div(p->s.terms, PANEL);
    return true;
}

// False: it is not possible. What host_tensor.c asks of all kernels holds.
static bool plan_of(kiln *k, const conv_job *j, const kiln_view *large, const kiln_view *small,
                    plan *p)
{
    enum { PLAYED = 132 };
    const kiln_device_info *info;
    if (j->kernel == KILN_CONV_SM80 || !k->caps.has_wgmma || !k->caps.has_tensor_copies ||
        j->space > 2 || op_device(k, &info))
        return false;
    uint32_t all =
        info->multiprocessors && !info->caps.is_emulated ? info->multiprocessors : PLAYED;
    p->is_row =
        j->has_both && j->groups == 1 && conv_rows_of(j, large, small, &p->large, &p->small);
    if (p->is_row && shape_of(j, p) && pick_row(p, all))
        return true;
    p->is_row = false;
    p->large = *large;
    p->small = *small;
    if (!shape_of(j, p))
        return false;
    pick(p, j->groups, all);
    return true;
}

bool conv_sm90_weights_are_row(kiln *k, const conv_job *j, const kiln_view *large,
                               const kiln_view *small)
{
    plan p;
    return plan_of(k, j, large, small, &p) && p.is_row;
}

uint32_t conv_sm90_weights_parts(kiln *k, const conv_job *j, const kiln_view *large,
                                 const kiln_view *small)
{
    plan p;
    return plan_of(k, j, large, small, &p) ? p.parts : 0;
}

// The map of a tensor for boxes of places, `stride` elements apart.
static kiln_status make_map(kiln *k, const kiln_view *v, const int64_t steps[5],
                            const uint32_t space[WINDOW_SPACE], const plan *p, uint32_t stride_w,
                            uint32_t stride_h, kiln_tensor_map *out)
{
    uint64_t bytes[4] = {0};
    const uint64_t sizes[4] = {v->sizes[1], space[W], space[H], v->sizes[0]};
    const int64_t from[4] = {1, steps[2 + W], steps[2 + H], steps[0]};
    for (uint32_t d = 1; d < 4;
         d++) // a dimension of one element has no stride, but a map wants one
        bytes[d] = sizes[d] > 1 ? (uint64_t)from[d] * 2 : 16;
    return kiln_tensor_map_make(
        k,
        &(kiln_tensor_map_desc){
            .buffer = v->buffer,
            .first = v->first,
            .type = kiln_view_type(*v),
            .rank = p->is_row ? 2 : 4,
            .size = {sizes[0], sizes[1], sizes[2], sizes[3]},
            .stride_bytes = {0, bytes[1], bytes[2], bytes[3]},
            .box = {PANEL, p->s.box_w * stride_w, p->s.box_h * stride_h, p->s.box_n},
            .element_stride = {1, stride_w, stride_h, 1},
            .swizzle_bytes = 128,
            .promotion_bytes = 256},
        out);
}

kiln_status conv_sm90_weights_launch(kiln *k, const conv_job *j, const kiln_view *large,
                                     const kiln_view *small, const kiln_view *to)
{
    plan p;
    kiln_tensor_map maps[2];
    const op_kernel *kernel;
    if (!plan_of(k, j, large, small, &p))
        return op_refuse(k, j->call, "the kernel for sm_90a is impossible");
    op_request r = {.program = &program};
    op_set(&r, T, j->type == KILN_F16);
    op_set(&r, BM, p.m);
    op_set(&r, BN, p.n);
    op_set(&r, SHARE, p.share);
    op_set(&r, PARTS, p.parts > 1);
    op_set(&r, ROW, p.is_row);
    op_set(&r, LOADERS, p.loaders);
    p.s.to = conv_weights_to_of(j, to);
    kiln_status status = op_kernel_get(k, &r, &kernel);
    if (!status && (p.blocks > INT32_MAX || j->groups > 65535))
        status = error_set(k, KILN_E_LAUNCH, K6015, "%s: %llu tiles are too many for one launch",
                           j->call, (unsigned long long)p.blocks);
    if (!status)
        status = make_map(k, &p.small, p.w.to, p.w.to_space, &p, 1, 1, &maps[0]);
    if (!status)
        status = make_map(k, &p.large, p.w.from, p.w.from_space, &p, p.w.stride[W], p.w.stride[H],
                          &maps[1]);
    if (status)
        return status;
    const kiln_arg args[] = {
        kiln_arg_struct(&maps[0], sizeof maps[0]), kiln_arg_struct(&maps[1], sizeof maps[1]),
        kiln_arg_view(p.parts > 1 ? j->workspace : *to), kiln_arg_struct(&p.s, sizeof p.s)};
    return kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {(uint32_t)p.blocks, j->groups,
                                                                    p.parts * p.share},
                                                           .shared_bytes = kernel->shared_bytes,
                                                           .args = args,
                                                           .arg_count = COUNT(args),
                                                           .stream = j->stream,
                                                           .overlaps_previous = true});
}
