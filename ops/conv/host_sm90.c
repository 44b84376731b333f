// Convolutions for Hopper (implicit_sm90.c): when they are possible, which tile there is, the
// launch. host_tensor.c asks, and packs the weights. Start reading at conv_sm90_launch.
#include <stdlib.h>

#include "ops/conv/host_conv.h"

#define AXES "ops/conv/axes_sm90.def"
#include "ops/axes.h"
static const op_program implicit = OP_PROGRAM("ops/conv/implicit_sm90.c", "conv_sm90"),
                        patches = OP_PROGRAM("ops/conv/patches_sm90.c", "conv_patches"),
                        implicit_add = OP_PROGRAM("ops/conv/implicit_add.c", "conv_add");

enum { PATCH = 8, MOST_HALO = 14 }; // columns and rows of a patch; of it and what windows reach
enum { W = 2, H = 1, K_TILE = 64, GRANULE = 8, MOST_BOX = 256, MOST_STEP = 8, MOST_PARTS = 16 };

// --- the problem
typedef struct problem {
    op_window w; // taps and to_space: of the phase
    uint32_t groups, all_taps;
    int32_t pad[WINDOW_SPACE], tap_first, tap_steps[WINDOW_SPACE];
    int64_t to_first; // the phase's first element
    uint32_t steps;   // 64 channels of a tap each
} problem;

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

// Steps of the copy engine: forward, and multiples of 16 bytes.
static bool has_steps(const int64_t steps[5], const uint32_t space[WINDOW_SPACE], uint64_t batch)
{
    bool is_right = batch <= 1 || (steps[0] > 0 && steps[0] % GRANULE == 0);
    for (uint32_t d = 0; d < WINDOW_SPACE; d++)
        is_right = is_right && (space[d] == 1 || (steps[2 + d] > 0 && steps[2 + d] % GRANULE == 0));
    return is_right && steps[1] == 1;
}

// Phases of the way from the small tensor to the large one: with a stride s the places p, p + s, …
// along a dimension have the same taps, k with k % s = (p + pad) % s. They are read backwards:
// place q * s + p reads q + (p + pad - k) / s.
static uint32_t phases_of(const conv_job *j, bool is_inverse)
{
    uint32_t all = 1;
    op_window w;
    op_window_make(j->large.view, j->small.view, j->window, &w);
    for (uint32_t d = 0; d < WINDOW_SPACE; d++)
        all *= is_inverse ? w.stride[d] : 1;
    return all;
}

static void turn(problem *p, uint32_t d, uint32_t phase, int32_t to_next_tap)
{
    op_window *w = &p->w;
    uint32_t s = w->stride[d], first = (phase + w->pad[d]) % s, taps = w->taps[d];
    uint32_t own = first < taps ? (taps - 1 - first) / s + 1 : 0;
    int32_t reach = (int32_t)(own ? w->dilation[d] * (own - 1) : 0);
    p->pad[d] = reach - (int32_t)((phase + w->pad[d] - first) / s);
    p->tap_first += to_next_tap * (int32_t)(first + s * (own ? own - 1 : 0));
    p->tap_steps[d] = -to_next_tap * (int32_t)s;
    p->to_first += phase * w->to[2 + d];
    w->to[2 + d] *= s;
    w->to_space[d] = phase < w->to_space[d] ? (w->to_space[d] - phase - 1) / s + 1 : 0;
    w->taps[d] = own;
    w->stride[d] = 1;
}

// Why it is not possible; NULL: it is. What host_tensor.c asks of all kernels holds.
static const char *problem_of(kiln *k, const conv_job *j, bool is_inverse, uint32_t phase,
                              problem *p)
{
    const kiln_view *from = is_inverse ? j->small.view : j->large.view;
    const kiln_view *to = is_inverse ? j->large.view : j->small.view;
    op_window *w = &p->w;
    *p = (problem){.groups = j->groups};
    if (!k->caps.has_wgmma || !k->caps.has_tensor_copies)
        return "the device is not sm_90a";
    op_window_make(from, to, j->window, w);
    op_window_sizes(j->weight.view, w->taps);
    w->channels = (uint32_t)to->sizes[1];
    w->per_group = w->channels / j->groups;
    w->terms = (uint32_t)from->sizes[1] / j->groups;
    p->all_taps = w->taps[H] * w->taps[W];
    if (j->space > 2 || !p->all_taps)
        return "there are more than two dimensions of space, or no taps";
    if (j->groups > 1 && w->terms % K_TILE)
        return "the channels of several groups are not multiples of 64";
    if (w->per_group % GRANULE || (to->buffer->address + to->first * 2) % 16 ||
        !has_steps(w->to, w->to_space, to->sizes[0]) ||
        !has_steps(w->from, w->from_space, from->sizes[0]))
        return "channels of a tensor do not start at multiples of 16 bytes";
    if (from->sizes[0] > INT32_MAX || w->batch > INT32_MAX)
        return "there are too many places";
    p->tap_steps[W] = 1;
    p->tap_steps[H] = (int32_t)w->taps[W];
    for (uint32_t d = W; d >= H; d--) {
        uint32_t stride = w->stride[d];
        if (stride > MOST_STEP || (is_inverse && stride > 1 && w->dilation[d] > 1))
            return "the stride of the window is too large, or goes with a dilation";
        p->pad[d] = (int32_t)w->pad[d];
        if (is_inverse)
            turn(p, d, phase % stride, p->tap_steps[d]);
        phase /= is_inverse ? stride : 1;
    }
    w->batch = to->sizes[0] * w->to_space[H] * w->to_space[W];
    p->steps = w->taps[H] * w->taps[W] * (uint32_t)ceil_div(w->terms, K_TILE);
    return NULL;
}

// --- tiles
typedef struct plan {
    uint32_t m, n, warpgroups, resident; // the variant
    bool has_patches;                    // of patches_sm90.c: m / 64 of them are a tile
    uint32_t box[3];                     // columns, rows, images of a tile
    uint32_t tiles_w, tiles_h, tiles_c;
    uint64_t tiles;
    uint32_t parts;
} plan;

// The box of at most p->m places with the fewest tiles. Only sizes that cut a dimension evenly are
// looked at.
static void pick_box(const problem *p, plan *out)
{
    enum { CUTS = 16 };
    const op_window *w = &p->w;
    uint64_t images = w->batch / w->to_space[W] / w->to_space[H], best = UINT64_MAX;
    for (uint32_t x = 1; x <= CUTS && x <= w->to_space[W]; x++) {
        uint32_t columns = (uint32_t)ceil_div(w->to_space[W], x);
        if (columns > out->m || columns * w->stride[W] > MOST_BOX)
            continue;
        for (uint32_t y = 1; y <= w->to_space[H]; y++) {
            uint32_t rows = (uint32_t)ceil_div(w->to_space[H], y);
            if (columns * rows > out->m || rows * w->stride[H] > MOST_BOX)
                continue;
            uint32_t deep = out->m / (columns * rows);
            deep = deep > images ? (uint32_t)images : deep > MOST_BOX ? MOST_BOX : deep;
            uint64_t tiles = (uint64_t)ceil_div(w->to_space[W], columns) *
                             ceil_div(w->to_space[H], rows) * ceil_div(images, deep);
            if (tiles < best) {
                best = tiles;
                out->box[0] = columns;
                out->box[1] = rows;
                out->box[2] = deep;
            }
            if (y > CUTS)
                break;
        }
    }
    if (best == UINT64_MAX) { // a very wide image
        out->box[0] = out->m < MOST_BOX / w->stride[W] ? out->m : MOST_BOX / w->stride[W];
        out->box[1] = out->box[2] = 1;
    }
    out->tiles_w = (uint32_t)ceil_div(w->to_space[W], out->box[0]);
    out->tiles_h = (uint32_t)ceil_div(w->to_space[H], out->box[1]);
    out->tiles_c = (uint32_t)ceil_div(w->per_group, out->n);
    out->tiles =
        out->tiles_w * (uint64_t)out->tiles_h * ceil_div(images, out->box[2]) * out->tiles_c;
}

static uint32_t halo_of(const problem *p, uint32_t d)
{
    return PATCH + p->w.dilation[d] * (p->w.taps[d] - 1);
}

// Are patches possible, and is there something to reuse?
static bool fits_patches(const problem *p)
{
    const op_window *w = &p->w;
    return w->stride[W] == 1 && w->stride[H] == 1 && w->taps[W] * w->taps[H] > 1 &&
           halo_of(p, W) <= MOST_HALO && halo_of(p, H) <= MOST_HALO;
}

static void cut_patches(const problem *p, plan *out)
{
    const op_window *w = &p->w;
    uint64_t images = w->batch / w->to_space[W] / w->to_space[H];
    out->tiles_w = (uint32_t)ceil_div(w->to_space[W], PATCH);
    out->tiles_h = (uint32_t)ceil_div(w->to_space[H], PATCH);
    out->tiles_c = (uint32_t)ceil_div(w->per_group, out->n);
    out->tiles = ceil_div(images * out->tiles_w * out->tiles_h, out->m / 64) * out->tiles_c;
}

// About how many cycles it takes. A multiprocessor multiplies 64 x 8 x 16 in 4 cycles and loads 29
// bytes in one for large tiles, 24 for small ones (H200, convolutions of ResNet-50).
static uint64_t cycles_of(const problem *p, const plan *t, uint32_t multiprocessors)
{
    enum {
        LOADED = 29,
        LOADED_SMALL = 24,
        LOADED_ALONE = 40, // one small tile each, and a long ring
        SMALL = 128 * 128,
        BEGIN = 1500,
        ADDING = 3000,
        STORED = 24,
        ADDED = 3000
    };
    uint64_t products = t->m / 64 * t->n * 2, rows = t->m + t->n;
    if (t->has_patches)
        rows = t->n + t->m / 64 * halo_of(p, W) * halo_of(p, H) / (p->w.taps[W] * p->w.taps[H]);
    uint64_t blocks = t->tiles * p->groups * t->parts;
    uint64_t waves = ceil_div(blocks, multiprocessors);
    bool is_square = t->m == t->n && t->m * t->n == SMALL;
    bool is_alone = is_square && !t->has_patches && t->resident == 1 && waves == 1;
    uint64_t rate = t->m * t->n > SMALL ? LOADED : is_alone ? LOADED_ALONE : LOADED_SMALL;
    uint64_t loads = rows * 128 / rate, step = products > loads ? products : loads;
    uint64_t store = t->m * t->n * 2 / STORED; // hidden behind the other block of two
    uint64_t all = waves * (ceil_div(p->steps, t->parts) * step + BEGIN / t->resident) +
                   ceil_div(waves, t->resident) * store;
    if (t->parts > 1)
        all += ADDING + p->w.batch * p->w.channels * 8 * t->parts / ADDED;
    return all;
}

static plan pick(const problem *p, uint32_t multiprocessors, bool may_part)
{
    static const plan all[] = {
        {.m = 256, .n = 128, .warpgroups = 2, .resident = 1},
        {.m = 192, .n = 128, .warpgroups = 3, .resident = 1},
        {.m = 128, .n = 256, .warpgroups = 2, .resident = 1},
        {.m = 192, .n = 192, .warpgroups = 3, .resident = 1},
        {.m = 128, .n = 128, .warpgroups = 2, .resident = 2},
        {.m = 128, .n = 128, .warpgroups = 2, .resident = 1},
        {.m = 256, .n = 64, .warpgroups = 2, .resident = 1},
        {.m = 192, .n = 64, .warpgroups = 3, .resident = 1},
        {.m = 128, .n = 64, .warpgroups = 2, .resident = 2},
        {.m = 64, .n = 128, .warpgroups = 1, .resident = 2},
        {.m = 64, .n = 64, .warpgroups = 1, .resident = 2},
        {.m = 256, .n = 128, .warpgroups = 2, .resident = 1, .has_patches = true},
        {.m = 128, .n = 256, .warpgroups = 2, .resident = 1, .has_patches = true},
        {.m = 192, .n = 128, .warpgroups = 3, .resident = 1, .has_patches = true},
        {.m = 192, .n = 192, .warpgroups = 3, .resident = 1, .has_patches = true},
        {.m = 128, .n = 128, .warpgroups = 2, .resident = 1, .has_patches = true},
        {.m = 256, .n = 64, .warpgroups = 2, .resident = 1, .has_patches = true},
        {.m = 128, .n = 64, .warpgroups = 2, .resident = 1, .has_patches = true},
        {.m = 64, .n = 128, .warpgroups = 1, .resident = 1, .has_patches = true},
    };
    plan best = {0};
    uint64_t least = UINT64_MAX;
    for (size_t n = 0; n < COUNT(all); n++) {
        plan t = all[n];
        t.parts = 1;
        if (t.has_patches && !fits_patches(p))
            continue;
        if (t.has_patches)
            cut_patches(p, &t);
        else
            pick_box(p, &t);
        uint32_t longest = t.has_patches ? (uint32_t)ceil_div(p->w.terms, K_TILE) : p->steps;
        uint64_t room = multiprocessors / (t.tiles * p->groups);
        for (uint32_t parts = 1; parts == 1 || (may_part && parts <= room && parts <= MOST_PARTS &&
                                                parts <= longest && p->steps / parts >= 8);
             parts++) {
            t.parts = parts;
            uint64_t cycles = cycles_of(p, &t, multiprocessors);
            if (cycles < least) {
                least = cycles;
                best = t;
            }
        }
    }
    return best;
}

// --- plans are kept: to find one takes longer than a launch
enum { KEPT = 64, KEY = 14 };

typedef struct kept_plan {
    uint32_t key[KEY];
    plan plan;
} kept_plan;

static void *make_plans(kiln *k)
{
    (void)k;
    return calloc(KEPT, sizeof(kept_plan));
}

static plan kept_plan_of(kiln *k, const problem *p, uint32_t multiprocessors, bool may_part)
{
    kept_plan *all = op_keep(k, OP_KEEP_CONV_PLANS, make_plans, free);
    const op_window *w = &p->w;
    const uint32_t key[KEY] = {w->to_space[W], w->to_space[H], (uint32_t)w->batch, w->per_group,
                               w->terms,       w->taps[W],     w->taps[H],         w->stride[W],
                               w->stride[H],   w->dilation[W], w->dilation[H],     p->groups,
                               may_part,       multiprocessors};
    uint32_t hash = 0;
    if (!all)
        return pick(p, multiprocessors, may_part);
    for (size_t n = 0; n < COUNT(key); n++)
        hash = (hash ^ key[n]) * 0x9e3779b1u;
    kept_plan *at = &all[(hash >> 16) % KEPT];
    if (memcmp(at->key, key, sizeof key) != 0) { // there is always a place
        at->plan = pick(p, multiprocessors, may_part);
        memcpy(at->key, key, sizeof key);
    }
    return at->plan;
}

static bool plan_of(kiln *k, const conv_job *j, bool is_inverse, uint32_t phase, bool may_part,
                    problem *p, plan *out)
{
    const kiln_device_info *info;
    if (j->kernel == KILN_CONV_SM80 || problem_of(k, j, is_inverse, phase, p) ||
        op_device(k, &info))
        return false;
    *out = (plan){.parts = 1};
    if (!p->w.batch) // no place has this phase
        return true;
    // What is played is what the large GPU would do.
    enum { PLAYED = 132 };
    bool is_real = info->multiprocessors && !info->caps.is_emulated;
    *out = kept_plan_of(k, p, is_real ? info->multiprocessors : PLAYED, may_part);
    return true;
}

bool conv_sm90_is_possible(kiln *k, const conv_job *j, bool is_inverse)
{
    problem p;
    // A step has 64 channels: with few of them the kernel of sm_80 multiplies fewer zeros.
    return j->kernel != KILN_CONV_SM80 && !problem_of(k, j, is_inverse, 0, &p) &&
           (j->kernel != KILN_CONV_BEST || p.w.terms >= K_TILE / 2);
}

uint64_t conv_sm90_workspace(kiln *k, const conv_job *j, bool is_inverse)
{
    problem p;
    plan t;
    uint32_t phases = phases_of(j, is_inverse);
    uint64_t most = 0;
    for (uint32_t n = 0; n < phases && plan_of(k, j, is_inverse, n, true, &p, &t); n++) {
        uint64_t needed = t.parts > 1 ? p.w.batch * p.w.channels * t.parts : 0;
        most = needed > most ? needed : most;
    }
    return most;
}

// --- launches
typedef struct conv_shape { // as implicit_sm90.c has it
    uint32_t tiles, tiles_c, tiles_w, tiles_h, box_w, box_h, box_n, to_w, to_h, to_n;
    uint32_t taps_w, taps_h, taps, blocks;
    int32_t tap_first, tap_w, tap_h;
    int32_t stride_w, stride_h, pad_w, pad_h, dilation_w, dilation_h;
    uint32_t per_group, terms, channels, loaded;
    int64_t step_w, step_h, step_n, bias_step;
} conv_shape;

static conv_shape shape_of(const problem *p, const plan *t, int64_t bias_step)
{
    const op_window *w = &p->w;
    return (conv_shape){.tiles = (uint32_t)t->tiles,
                        .tiles_c = t->tiles_c,
                        .tiles_w = t->tiles_w,
                        .tiles_h = t->tiles_h,
                        .box_w = t->box[0],
                        .box_h = t->box[1],
                        .box_n = t->box[2],
                        .to_w = w->to_space[W],
                        .to_h = w->to_space[H],
                        .to_n = (uint32_t)(w->batch / w->to_space[W] / w->to_space[H]),
                        .taps_w = w->taps[W],
                        .taps_h = w->taps[H],
                        .taps = w->taps[W] * w->taps[H],
                        .blocks = (uint32_t)ceil_div(w->terms, K_TILE),
                        .tap_first = p->tap_first,
                        .tap_w = p->tap_steps[W],
                        .tap_h = p->tap_steps[H],
                        .stride_w = (int32_t)w->stride[W],
                        .stride_h = (int32_t)w->stride[H],
                        .pad_w = p->pad[W],
                        .pad_h = p->pad[H],
                        .dilation_w = (int32_t)w->dilation[W],
                        .dilation_h = (int32_t)w->dilation[H],
                        .per_group = w->per_group,
                        .terms = w->terms,
                        .channels = w->channels,
                        .loaded = (t->box[0] * t->box[1] * t->box[2] + t->n) * 128,
                        .step_w = w->to[2 + W],
                        .step_h = w->to[2 + H],
                        .step_n = w->to[0],
                        .bias_step = bias_step};
}

// The stride of a dimension of one element says nothing; the copy engine wants one all the same.
static uint64_t stride_bytes(int64_t step, uint64_t size)
{
    return size > 1 ? (uint64_t)step * 2 : 16;
}

static kiln_status make_maps(kiln *k, const conv_job *j, const kiln_view *from,
                             const kiln_view *weight, const problem *p, const plan *t,
                             kiln_tensor_map maps[2])
{
    const op_window *w = &p->w;
    uint32_t taps = p->all_taps;
    const kiln_tensor_map_desc operand = {
        .buffer = from->buffer,
        .first = from->first,
        .type = j->type,
        .rank = 4,
        .size = {from->sizes[1], w->from_space[W], w->from_space[H], from->sizes[0]},
        .stride_bytes = {0, stride_bytes(w->from[2 + W], w->from_space[W]),
                         stride_bytes(w->from[2 + H], w->from_space[H]),
                         stride_bytes(w->from[0], from->sizes[0])},
        .box = {K_TILE, t->has_patches ? halo_of(p, W) : t->box[0] * w->stride[W],
                t->has_patches ? halo_of(p, H) : t->box[1] * w->stride[H],
                t->has_patches ? 1 : t->box[2]},
        .element_stride = {1, w->stride[W], w->stride[H], 1},
        .swizzle_bytes = 128,
        .promotion_bytes = 256};
    const kiln_tensor_map_desc weights = {
        .buffer = weight->buffer,
        .first = weight->first,
        .type = j->type,
        .rank = 3,
        .size = {w->terms, taps, w->channels},
        .stride_bytes = {0, (uint64_t)w->terms * 2, (uint64_t)w->terms * taps * 2},
        .box = {K_TILE, 1, t->n},
        .swizzle_bytes = 128,
        .promotion_bytes = 256};
    kiln_status status = kiln_tensor_map_make(k, &operand, &maps[0]);
    return status ? status : kiln_tensor_map_make(k, &weights, &maps[1]);
}

static void set_ends(const conv_job *j, op_request *r)
{
    bool has_bias = j->bias.view && j->bias.view->buffer;
    op_set(r, T, j->type == KILN_F16);
    op_set(r, HAS_BIAS, has_bias);
    if (has_bias)
        op_set(r, BIAS, conv_type_axis(kiln_view_type(*j->bias.view)));
    op_set(r, ACTIVATION, j->activation);
}

static kiln_status add_parts(kiln *k, const conv_job *j, const conv_shape *s, uint32_t parts,
                             const kiln_view *sums, const kiln_view *to)
{
    enum { THREADS = 128 };
    op_request r = {.program = &implicit_add};
    const op_kernel *kernel;
    uint64_t places = (uint64_t)s->to_w * s->to_h * s->to_n;
    set_ends(j, &r);
    kiln_status status = op_kernel_get(k, &r, &kernel);
    if (status)
        return status;
    kiln_arg args[12] = {kiln_arg_view(*sums), kiln_arg_view(*to)};
    size_t count = 2;
    if (j->bias.view && j->bias.view->buffer) {
        args[count++] = kiln_arg_view(*j->bias.view);
        args[count++] = kiln_arg_i64(KILN_I64, s->bias_step);
    }
    const uint32_t sizes[] = {parts, s->channels, s->to_w, s->to_h};
    for (size_t n = 0; n < COUNT(sizes); n++)
        args[count++] = kiln_arg_i64(KILN_U32, sizes[n]);
    args[count++] = kiln_arg_i64(KILN_U64, (int64_t)places);
    const int64_t steps[] = {s->step_w, s->step_h, s->step_n};
    for (size_t n = 0; n < COUNT(steps); n++)
        args[count++] = kiln_arg_i64(KILN_I64, steps[n]);
    uint64_t threads = places * s->channels / 4;
    return kiln_launch(kernel->kernel,
                       &(kiln_launch_desc){.grid = {(uint32_t)ceil_div(threads, THREADS)},
                                           .args = args,
                                           .arg_count = count,
                                           .stream = j->stream,
                                           .overlaps_previous = true});
}

static kiln_status launch_phase(kiln *k, const conv_job *j, bool is_inverse, const problem *p,
                                const plan *t, const kiln_view *weight, const kiln_view *sums)
{
    const kiln_view *from = is_inverse ? j->small.view : j->large.view;
    kiln_view to = is_inverse ? *j->large.view : *j->small.view;
    bool has_bias = j->bias.view && j->bias.view->buffer;
    kiln_tensor_map maps[2];
    to.first = (uint64_t)((int64_t)to.first + p->to_first);
    conv_shape s = shape_of(p, t, has_bias ? kiln_view_stride(*j->bias.view, 0) : 0);
    op_request r = {.program = t->has_patches ? &patches : &implicit};
    set_ends(j, &r);
    if (t->parts > 1) { // implicit_add.c has bias and activation
        op_set(&r, HAS_BIAS, false);
        op_set(&r, ACTIVATION, KILN_ACTIVATION_NONE);
    }
    op_set(&r, BN, t->n);
    op_set(&r, WGS, t->warpgroups);
    op_set(&r, PARTS, t->parts > 1);
    if (t->has_patches) {
        op_set(&r, PATCHES, t->m / 64);
        op_set(&r, HALO_W, halo_of(p, W));
        op_set(&r, HALO_H, halo_of(p, H));
    } else {
        op_set(&r, BM, t->m);
        op_set(&r, RESIDENT, t->resident);
    }
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(k, &r, &kernel);
    if (!status && (t->tiles > INT32_MAX || j->groups > 65535))
        status = error_set(k, KILN_E_LAUNCH, K6015, "%s: %llu tiles are too many for one launch",
                           j->call, (unsigned long long)t->tiles);
    if (!status)
        status = make_maps(k, j, from, weight, p, t, maps);
    if (status)
        return status;
    kiln_arg args[5] = {kiln_arg_struct(&maps[0], sizeof maps[0]),
                        kiln_arg_struct(&maps[1], sizeof maps[1]),
                        kiln_arg_view(t->parts > 1 ? *sums : to)};
    size_t count = 3;
    if (has_bias && t->parts == 1)
        args[count++] = kiln_arg_view(*j->bias.view);
    args[count++] = kiln_arg_struct(&s, sizeof s);
    uint64_t room = kernel->resident / j->groups, blocks = t->tiles;
    blocks = room && blocks > room ? room : blocks;
    status = kiln_launch(kernel->kernel,
                         &(kiln_launch_desc){.grid = {(uint32_t)blocks, j->groups, t->parts},
                                             .shared_bytes = kernel->shared_bytes,
                                             .args = args,
                                             .arg_count = count,
                                             .stream = j->stream,
                                             .overlaps_previous = true});
    return status || t->parts == 1 ? status : add_parts(k, j, &s, t->parts, sums, &to);
}

kiln_status conv_sm90_launch(kiln *k, const conv_job *j, bool is_inverse, const kiln_view *weight,
                             const kiln_view *sums)
{
    uint32_t phases = phases_of(j, is_inverse);
    kiln_status status = KILN_OK;
    for (uint32_t n = 0; n < phases && !status; n++) {
        problem p;
        plan t;
        if (!plan_of(k, j, is_inverse, n, sums->buffer != NULL, &p, &t))
            return op_refuse(k, j->call, "the kernel for sm_90a is impossible");
        if (p.w.batch)
            status = launch_phase(k, j, is_inverse, &p, &t, weight, sums);
    }
    return status;
}
