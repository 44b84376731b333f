// Convolutions for Hopper (implicit_sm90.c, patches_sm90.c): when they are possible, which tile
// there is, the launch. host_tensor.c asks, and packs the weights. Start reading at
// conv_sm90_launch.
#include <stdlib.h>

#include "ops/conv/host_conv.h"

#include "rt/memory/view.h"

#define AXES "ops/conv/axes_sm90.def"
#include "ops/axes.h"
static const op_program implicit = OP_PROGRAM("ops/conv/implicit_sm90.c", "conv_sm90"),
                        patches = OP_PROGRAM("ops/conv/patches_sm90.c", "conv_patches");

enum { PATCH = 8, MOST_HALO = 14 }; // columns and rows of a patch; of it and what windows reach
enum { W = 2, H = 1, K_TILE = 64, GRANULE = 8, MOST_BOX = 256, MOST_STEP = 8, MOST_SHARE = 8 };
enum { PHASES = 4 }; // of a launch, as sm90.h has it

// --- the problem
// Phases of the way from the small tensor to the large one: with a stride s the places p, p + s, …
// along a dimension have the same taps, k with k % s = (p + pad) % s. They are read backwards:
// place q * s + p reads q + (p + pad - k) / s. Else there is one phase.
typedef struct phase {
    uint32_t taps[WINDOW_SPACE], to_space[WINDOW_SPACE];
    int32_t pad[WINDOW_SPACE], tap_first;
    int64_t to_first; // its first element
    uint64_t steps;   // 64 channels of a tap each
} phase;

typedef struct problem {
    op_window w; // of inverse ones: steps of the result from place to place of a phase, stride 1
    uint32_t groups, all_taps, blocks, images;
    bool is_loose;
    int32_t tap_steps[WINDOW_SPACE];
    uint32_t first, phases_in_all, count; // phases: the first one, all, those of this launch
    phase phases[PHASES];
} problem;

// Steps of the copy engine: forward, and multiples of 16 bytes.
static bool has_steps(const int64_t steps[5], const uint32_t space[WINDOW_SPACE], uint64_t batch)
{
    bool is_right = batch <= 1 || (steps[0] > 0 && steps[0] % GRANULE == 0);
    for (uint32_t d = 0; d < WINDOW_SPACE; d++)
        is_right = is_right && (space[d] == 1 || (steps[2 + d] > 0 && steps[2 + d] % GRANULE == 0));
    return is_right && steps[1] == 1;
}

static phase plain_phase(const op_window *w)
{
    phase f = {.tap_first = 0};
    for (uint32_t d = H; d <= W; d++) {
        f.taps[d] = w->taps[d];
        f.to_space[d] = w->to_space[d];
        f.pad[d] = (int32_t)w->pad[d];
    }
    return f;
}

static void turn(const op_window *w, uint32_t d, uint32_t number, int32_t to_next_tap, phase *f)
{
    uint32_t s = w->stride[d], first = (number + w->pad[d]) % s, taps = w->taps[d];
    uint32_t own = first < taps ? (taps - 1 - first) / s + 1 : 0;
    int32_t reach = (int32_t)(own ? w->dilation[d] * (own - 1) : 0);
    f->pad[d] = reach - (int32_t)((number + w->pad[d] - first) / s);
    f->tap_first += to_next_tap * (int32_t)(first + s * (own ? own - 1 : 0));
    f->to_first += number * w->to[2 + d];
    f->to_space[d] = number < w->to_space[d] ? (w->to_space[d] - number - 1) / s + 1 : 0;
    f->taps[d] = own;
}

// Phases from p->first on, those with the most taps first: the others fill what they leave.
static void add_phases(problem *p, bool is_inverse)
{
    op_window *w = &p->w;
    uint32_t end = p->first + PHASES;
    for (uint32_t n = p->first; n < p->phases_in_all && n < end; n++) {
        phase f = plain_phase(w);
        if (is_inverse) {
            turn(w, W, n % w->stride[W], 1, &f);
            turn(w, H, n / w->stride[W], (int32_t)w->taps[W], &f);
        }
        f.steps = (uint64_t)f.taps[W] * f.taps[H] * p->blocks;
        uint32_t at = p->count;
        if (!f.to_space[W] || !f.to_space[H] || !p->images)
            continue; // no place has this phase
        for (; at && p->phases[at - 1].steps < f.steps; at--)
            p->phases[at] = p->phases[at - 1];
        p->phases[at] = f;
        p->count++;
    }
    p->tap_steps[W] = 1;
    p->tap_steps[H] = (int32_t)w->taps[W];
    for (uint32_t d = H; d <= W && is_inverse; d++) {
        p->tap_steps[d] *= -(int32_t)w->stride[d];
        w->to[2 + d] *= w->stride[d];
        w->stride[d] = 1;
    }
}

// Why it is not possible; NULL: it is. What host_tensor.c asks of all kernels holds.
static const char *problem_of(kiln *k, const conv_job *j, bool is_inverse, uint32_t first,
                              problem *p)
{
    const kiln_view *from = is_inverse ? j->small.view : j->large.view;
    const kiln_view *to = is_inverse ? j->large.view : j->small.view;
    op_window *w = &p->w;
    *p = (problem){.groups = j->groups, .first = first};
    if (!k->caps.has_wgmma || !k->caps.has_tensor_copies)
        return "the device is not sm_90a";
    op_window_make(from, to, j->window, w);
    op_window_sizes(j->weight.view, w->taps);
    w->channels = (uint32_t)to->sizes[1];
    w->per_group = w->channels / j->groups;
    w->terms = (uint32_t)from->sizes[1] / j->groups;
    p->all_taps = w->taps[H] * w->taps[W];
    p->blocks = (uint32_t)op_ceil_div(w->terms, K_TILE);
    p->images = (uint32_t)to->sizes[0];
    if (j->space > 2 || !p->all_taps)
        return "there are more than two dimensions of space, or no taps";
    if (j->groups > 1 && w->terms % K_TILE)
        return "the channels of several groups are not multiples of 64";
    if (!has_steps(w->from, w->from_space, from->sizes[0]) || w->to[1] != 1)
        return "channels of a tensor do not start at multiples of 16 bytes";
    p->is_loose = w->per_group % GRANULE || !view_is_aligned(to, 16) ||
                  !has_steps(w->to, w->to_space, to->sizes[0]);
    if (from->sizes[0] > INT32_MAX || w->batch > INT32_MAX)
        return "there are too many places";
    p->phases_in_all = 1;
    for (uint32_t d = H; d <= W; d++) {
        if (w->stride[d] > MOST_STEP || (is_inverse && w->stride[d] > 1 && w->dilation[d] > 1))
            return "the stride of the window is too large, or goes with a dilation";
        p->phases_in_all *= is_inverse ? w->stride[d] : 1;
    }
    add_phases(p, is_inverse);
    return NULL;
}

// --- tiles
typedef struct plan {
    uint32_t m, n, warpgroups, resident; // the variant
    bool has_patches;                    // of patches_sm90.c: m / 64 of them are a tile
    uint32_t box[3];                     // columns, rows, images of a tile
    uint32_t share;                      // blocks that share the sum of a tile
    uint32_t loaders;                    // and that load weights for each other
} plan;

// The largest sizes of a phase: of the result, or taps.
static uint32_t most_places(const problem *p, uint32_t d)
{
    uint32_t most = 0;
    for (uint32_t n = 0; n < p->count; n++)
        most = p->phases[n].to_space[d] > most ? p->phases[n].to_space[d] : most;
    return most;
}

static uint32_t most_taps(const problem *p, uint32_t d)
{
    uint32_t most = 0;
    for (uint32_t n = 0; n < p->count; n++)
        most = p->phases[n].taps[d] > most ? p->phases[n].taps[d] : most;
    return most;
}

// The box of at most t->m places with the fewest tiles. Only sizes that cut a dimension evenly are
// looked at.
static void pick_box(const problem *p, plan *t)
{
    enum { CUTS = 16 };
    const op_window *w = &p->w;
    uint32_t to_w = most_places(p, W), to_h = most_places(p, H);
    uint64_t best = UINT64_MAX;
    for (uint32_t x = 1; x <= CUTS && x <= to_w; x++) {
        uint32_t columns = (uint32_t)op_ceil_div(to_w, x);
        if (columns > t->m || columns * w->stride[W] > MOST_BOX)
            continue;
        for (uint32_t y = 1; y <= to_h; y++) {
            uint32_t rows = (uint32_t)op_ceil_div(to_h, y);
            if (columns * rows > t->m || rows * w->stride[H] > MOST_BOX)
                continue;
            uint32_t deep = t->m / (columns * rows);
            deep = deep > p->images ? p->images : deep > MOST_BOX ? MOST_BOX : deep;
            uint64_t tiles =
                op_ceil_div(to_w, columns) * op_ceil_div(to_h, rows) * op_ceil_div(p->images, deep);
            if (tiles < best) {
                best = tiles;
                t->box[0] = columns;
                t->box[1] = rows;
                t->box[2] = deep;
            }
            if (y > CUTS)
                break;
        }
    }
    if (best == UINT64_MAX) { // a very wide image
        t->box[0] = t->m < MOST_BOX / w->stride[W] ? t->m : MOST_BOX / w->stride[W];
        t->box[1] = t->box[2] = 1;
    }
}

static uint32_t halo_of(const problem *p, uint32_t d)
{
    return PATCH + p->w.dilation[d] * (most_taps(p, d) - 1);
}

// Are patches possible, and is there something to reuse?
static bool fits_patches(const problem *p)
{
    const op_window *w = &p->w;
    bool has_taps = true;
    for (uint32_t n = 0; n < p->count; n++)
        has_taps = has_taps && p->phases[n].steps;
    return has_taps && w->stride[W] == 1 && w->stride[H] == 1 &&
           most_taps(p, W) * most_taps(p, H) > 1 && halo_of(p, W) <= MOST_HALO &&
           halo_of(p, H) <= MOST_HALO;
}

static uint32_t tiles_c(const problem *p, const plan *t)
{
    return (uint32_t)op_ceil_div(p->w.per_group, t->n);
}

static uint64_t tiles_of(const problem *p, const plan *t, const phase *f)
{
    uint32_t columns = t->has_patches ? PATCH : t->box[0],
             rows = t->has_patches ? PATCH : t->box[1];
    uint64_t places = op_ceil_div(f->to_space[W], columns) * op_ceil_div(f->to_space[H], rows);
    uint64_t tiles = t->has_patches ? op_ceil_div(p->images * places, t->m / 64)
                                    : places * op_ceil_div(p->images, t->box[2]);
    return op_ceil_div(tiles, t->loaders) * t->loaders * tiles_c(p, t);
}

static uint64_t all_tiles(const problem *p, const plan *t)
{
    uint64_t all = 0;
    for (uint32_t n = 0; n < p->count; n++)
        all += tiles_of(p, t, &p->phases[n]);
    return all;
}

// Bytes that a multiprocessor loads in a cycle (H200, convolutions of ResNet-50).
static uint64_t rate_of(const problem *p, const plan *t, uint64_t waves)
{
    enum {
        LARGE = 29,
        SMALL = 24,
        SMALL_PATCHES = 33,
        ALONE = 40, // one small tile each, or phases of different lengths, and a long ring
        ALONE_SMALL = 64,
        LOADERS = 38 // for each other
    };
    uint32_t numbers = t->m * t->n;
    if (numbers > 128 * 128)
        return LARGE;
    if (t->has_patches)
        return numbers <= 128 * 64 ? SMALL_PATCHES : SMALL;
    if (t->loaders > 1)
        return LOADERS;
    if (t->m > t->n * 2 || t->resident > 1 || (waves > 1 && p->count == 1))
        return SMALL;
    return numbers == 128 * 64 && waves == 1 ? ALONE_SMALL : ALONE;
}

// About how many cycles it takes. A multiprocessor multiplies 64 x 8 x 16 in 4 cycles.
static uint64_t cycles_of(const problem *p, const plan *t, uint32_t multiprocessors)
{
    enum {
        BEGIN = 1500,
        MEET = 2500, // of blocks that load for each other
        STORED = 24,
        EXCHANGE = 1500, // of a shared sum
        EXCHANGED = 4,   // numbers, of
        LARGE = 24576,   // such tiles; a larger one takes longer
        LARGER = 6000
    };
    uint64_t products = t->m / 64 * t->n * 2, blocks = all_tiles(p, t) * p->groups;
    uint64_t room = t->loaders > 1 ? conv_sm90_room(multiprocessors, t->loaders) : multiprocessors;
    uint64_t waves = op_ceil_div(blocks * t->share, room), rate = rate_of(p, t, waves);
    uint64_t store = t->m * t->n * 2 / STORED; // hidden behind the other block of two
    uint64_t all = op_ceil_div(waves, t->resident) * store, end = 0, at = 0;
    // The tiles of the first multiprocessor, which has the longest.
    for (uint32_t n = 0; n < p->count; n++) {
        const phase *f = &p->phases[n];
        uint64_t rows = t->m + t->n / t->loaders;
        if (t->has_patches)
            rows = t->n + t->m / 64 * halo_of(p, W) * halo_of(p, H) / (f->taps[W] * f->taps[H]);
        uint64_t loads = rows * 128 / rate, step = products > loads ? products : loads;
        end += tiles_of(p, t, f) * p->groups * t->share;
        for (; at < end; at += room)
            all += op_ceil_div(f->steps, t->share) * step + BEGIN / t->resident +
                   (t->loaders > 1 ? MEET : 0);
    }
    if (t->share > 1)
        all += EXCHANGE + t->m * t->n / EXCHANGED + (t->m * t->n > LARGE ? LARGER : 0);
    return all;
}

uint64_t conv_sm90_room(uint32_t multiprocessors, uint32_t share)
{
    enum {
        SMS = 132
    }; // of an H200, on which at least so many clusters of 1, 2, 3 … blocks run together
    static const uint32_t clusters[] = {132, 66, 36, 30, 22, 16, 15, 14};
    return (uint64_t)multiprocessors * clusters[share - 1] / SMS * share;
}

static void keep_best(const problem *p, plan t, uint32_t multiprocessors, uint64_t *least,
                      plan *best)
{
    uint64_t cycles = cycles_of(p, &t, multiprocessors);
    if (cycles >= *least)
        return;
    *least = cycles;
    *best = t;
}

static plan pick(const problem *p, uint32_t multiprocessors)
{
    enum { LEAST_STEPS = 4, LOADERS = 4 }; // the first: of a block that shares a sum
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
        {.m = 64, .n = 128, .warpgroups = 1, .resident = 1}, // these can share sums
        {.m = 128, .n = 64, .warpgroups = 2, .resident = 1},
        {.m = 64, .n = 64, .warpgroups = 1, .resident = 1},
        {.m = 256, .n = 128, .warpgroups = 2, .resident = 1, .has_patches = true},
        {.m = 128, .n = 256, .warpgroups = 2, .resident = 1, .has_patches = true},
        {.m = 192, .n = 128, .warpgroups = 3, .resident = 1, .has_patches = true},
        {.m = 192, .n = 192, .warpgroups = 3, .resident = 1, .has_patches = true},
        {.m = 128, .n = 128, .warpgroups = 2, .resident = 1, .has_patches = true},
        {.m = 256, .n = 64, .warpgroups = 2, .resident = 1, .has_patches = true},
        {.m = 128, .n = 64, .warpgroups = 2, .resident = 1, .has_patches = true},
        {.m = 64, .n = 128, .warpgroups = 1, .resident = 1, .has_patches = true},
        {.m = 64, .n = 64, .warpgroups = 1, .resident = 1, .has_patches = true},
    };
    plan best = {0};
    uint64_t least = UINT64_MAX, steps = p->phases[p->count - 1].steps; // of the shortest phase
    for (size_t n = 0; n < COUNT(all); n++) {
        plan t = all[n];
        t.loaders = 1;
        if (t.has_patches && !fits_patches(p))
            continue;
        if (!t.has_patches)
            pick_box(p, &t);
        uint64_t longest = t.has_patches ? p->blocks : steps;
        uint64_t blocks = all_tiles(p, &t) * p->groups;
        for (t.share = 1;
             t.share == 1 || (t.resident == 1 && t.share <= MOST_SHARE && t.share <= longest &&
                              blocks * t.share <= conv_sm90_room(multiprocessors, t.share) &&
                              steps / t.share >= LEAST_STEPS);
             t.share++)
            keep_best(p, t, multiprocessors, &least, &best);
        t.share = 1;
        t.loaders = LOADERS;
        if (!t.has_patches && t.resident == 1)
            keep_best(p, t, multiprocessors, &least, &best);
    }
    return best;
}

// --- plans are kept: to find one takes longer than a launch
enum { KEPT = 64, KEY = 18 };

typedef struct kept_plan {
    uint32_t key[KEY];
    plan plan;
} kept_plan;

static void *make_plans(kiln *k)
{
    (void)k;
    return calloc(KEPT, sizeof(kept_plan));
}

static plan kept_plan_of(kiln *k, const problem *p, uint32_t multiprocessors)
{
    kept_plan *all = op_keep(k, OP_KEEP_CONV_PLANS, make_plans, free);
    const op_window *w = &p->w;
    const uint32_t key[KEY] = {w->to_space[W],
                               w->to_space[H],
                               p->images,
                               w->per_group,
                               w->terms,
                               w->taps[W],
                               w->taps[H],
                               w->stride[W],
                               w->stride[H],
                               w->dilation[W],
                               w->dilation[H],
                               p->groups,
                               w->pad[W],
                               w->pad[H],
                               p->first,
                               multiprocessors,
                               (uint32_t)p->tap_steps[W],
                               (uint32_t)p->tap_steps[H]};
    uint32_t hash = 0;
    if (!all)
        return pick(p, multiprocessors);
    for (size_t n = 0; n < COUNT(key); n++)
        hash = (hash ^ key[n]) * 0x9e3779b1u;
    kept_plan *at = &all[(hash >> 16) % KEPT];
    if (memcmp(at->key, key, sizeof key) != 0) { // there is always a place
        at->plan = pick(p, multiprocessors);
        memcpy(at->key, key, sizeof key);
    }
    return at->plan;
}

static plan plan_of(kiln *k, const problem *p)
{
    enum { PLAYED = 132 }; // what is played is what the large GPU would do
    const kiln_device_info *info;
    bool is_real = !op_device(k, &info) && info->multiprocessors && !info->caps.is_emulated;
    return kept_plan_of(k, p, is_real ? info->multiprocessors : PLAYED);
}

bool conv_sm90_is_possible(kiln *k, const conv_job *j, bool is_inverse)
{
    problem p;
    // A step has 64 channels: with few of them the kernel of sm_80 multiplies fewer zeros.
    return j->kernel != KILN_CONV_SM80 && !problem_of(k, j, is_inverse, 0, &p) &&
           (j->kernel != KILN_CONV_BEST || p.w.terms >= K_TILE / 2);
}

// --- launches
typedef struct conv_phase { // as sm90.h has them
    uint32_t end, tiles_w, tiles_h, to_w, to_h, taps_w, taps_h;
    int32_t tap_first, pad_w, pad_h;
    int64_t to_first;
} conv_phase;

typedef struct conv_shape {
    uint32_t tiles, tiles_c, box_w, box_h, box_n, to_n, blocks;
    int32_t tap_w, tap_h, stride_w, stride_h, dilation_w, dilation_h;
    uint32_t per_group, terms, loaded;
    int64_t step_w, step_h, step_n, bias_step;
    conv_phase phases[PHASES];
} conv_shape;

typedef struct adds_shape { // as sm90_adds.h has it
    uint64_t elements;
    uint32_t count;
} adds_shape;

static conv_shape shape_of(const problem *p, const plan *t, int64_t bias_step)
{
    const op_window *w = &p->w;
    uint32_t columns = t->has_patches ? PATCH : t->box[0],
             rows = t->has_patches ? PATCH : t->box[1];
    conv_shape s = {.tiles_c = tiles_c(p, t),
                    .box_w = t->box[0],
                    .box_h = t->box[1],
                    .box_n = t->box[2],
                    .to_n = p->images,
                    .blocks = p->blocks,
                    .tap_w = p->tap_steps[W],
                    .tap_h = p->tap_steps[H],
                    .stride_w = (int32_t)w->stride[W],
                    .stride_h = (int32_t)w->stride[H],
                    .dilation_w = (int32_t)w->dilation[W],
                    .dilation_h = (int32_t)w->dilation[H],
                    .per_group = w->per_group,
                    .terms = w->terms,
                    .loaded = (t->box[0] * t->box[1] * t->box[2] + t->n) * 128,
                    .step_w = w->to[2 + W],
                    .step_h = w->to[2 + H],
                    .step_n = w->to[0],
                    .bias_step = bias_step};
    for (uint32_t n = 0; n < p->count; n++) {
        const phase *f = &p->phases[n];
        s.tiles += (uint32_t)tiles_of(p, t, f);
        s.phases[n] = (conv_phase){.end = s.tiles,
                                   .tiles_w = (uint32_t)op_ceil_div(f->to_space[W], columns),
                                   .tiles_h = (uint32_t)op_ceil_div(f->to_space[H], rows),
                                   .to_w = f->to_space[W],
                                   .to_h = f->to_space[H],
                                   .taps_w = f->taps[W],
                                   .taps_h = f->taps[H],
                                   .tap_first = f->tap_first,
                                   .pad_w = f->pad[W],
                                   .pad_h = f->pad[H],
                                   .to_first = f->to_first};
    }
    for (uint32_t n = p->count; n < PHASES; n++) // no tile is theirs
        s.phases[n] = s.phases[p->count - 1];
    return s;
}

// The stride of a dimension of one element says nothing; the copy engine wants one all the same.
static uint64_t stride_bytes(int64_t step, uint64_t size)
{
    return size > 1 ? (uint64_t)step * 2 : 16;
}

static kiln_status make_maps(kiln *k, const conv_job *j, const kiln_view *from,
                             const conv_weights *weight, const problem *p, const plan *t,
                             kiln_tensor_map maps[2])
{
    const op_window *w = &p->w;
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
    uint64_t columns = weight->is_across ? w->per_group : w->terms,
             lines = (uint64_t)(weight->is_across ? w->terms : w->per_group) * p->groups;
    const kiln_tensor_map_desc weights = {
        .buffer = weight->view.buffer,
        .first = weight->view.first,
        .type = j->type,
        .rank = 3,
        .size = {columns, p->all_taps, lines},
        .stride_bytes = {0, columns * 2, columns * p->all_taps * 2},
        .box = {K_TILE, 1, (weight->is_across ? K_TILE : t->n) / t->loaders},
        .swizzle_bytes = 128,
        .promotion_bytes = 256};
    kiln_status status = kiln_tensor_map_make(k, &operand, &maps[0]);
    return status ? status : kiln_tensor_map_make(k, &weights, &maps[1]);
}

static void set_axes(const conv_job *j, const problem *p, const plan *t, bool is_across,
                     op_request *r)
{
    bool has_bias = j->bias.view && j->bias.view->buffer;
    op_set(r, T, j->type == KILN_F16);
    op_set(r, HAS_BIAS, has_bias);
    if (has_bias)
        op_set(r, BIAS, conv_type_axis(kiln_view_type(*j->bias.view)));
    op_set(r, ACTIVATION, j->activation);
    op_set(r, ACROSS, is_across);
    op_set(r, BN, t->n);
    op_set(r, WGS, t->warpgroups);
    op_set(r, SHARE, t->share);
    op_set(r, LOADERS, t->loaders);
    op_set(r, LATE, j->is_late);
    op_set(r, ADDS, j->adds != NULL);
    op_set(r, LOOSE, p->is_loose);
    if (t->has_patches) {
        op_set(r, PATCHES, t->m / 64);
        op_set(r, HALO_W, halo_of(p, W));
        op_set(r, HALO_H, halo_of(p, H));
    } else {
        op_set(r, BM, t->m);
        op_set(r, RESIDENT, t->resident);
    }
}

static kiln_status launch(kiln *k, const conv_job *j, bool is_inverse, const problem *p,
                          const conv_weights *weight)
{
    const kiln_view *from = is_inverse ? j->small.view : j->large.view;
    const kiln_view *to = is_inverse ? j->large.view : j->small.view;
    bool has_bias = j->bias.view && j->bias.view->buffer;
    kiln_tensor_map maps[2];
    const op_kernel *kernel;
    plan t = plan_of(k, p);
    op_request r = {.program = t.has_patches ? &patches : &implicit};
    set_axes(j, p, &t, weight->is_across, &r);
    kiln_status status = op_kernel_get(k, &r, &kernel);
    uint64_t blocks = all_tiles(p, &t);
    if (!status && (blocks > INT32_MAX || j->groups > 65535))
        status = error_set(k, KILN_E_LAUNCH, K6015, "%s: %llu tiles are too many for one launch",
                           j->call, (unsigned long long)blocks);
    if (!status)
        status = make_maps(k, j, from, weight, p, &t, maps);
    if (status)
        return status;
    conv_shape s = shape_of(p, &t, has_bias ? kiln_view_stride(*j->bias.view, 0) : 0);
    kiln_arg args[8] = {kiln_arg_struct(&maps[0], sizeof maps[0]),
                        kiln_arg_struct(&maps[1], sizeof maps[1]), kiln_arg_view(*to)};
    size_t count = 3;
    if (has_bias)
        args[count++] = kiln_arg_view(*j->bias.view);
    adds_shape adds;
    if (j->adds) {
        adds = (adds_shape){.elements = kiln_view_count(j->adds->to), .count = j->adds->count};
        args[count++] = kiln_arg_view(j->adds->parts);
        args[count++] = kiln_arg_view(j->adds->to);
        args[count++] = kiln_arg_struct(&adds, sizeof adds);
    }
    args[count++] = kiln_arg_struct(&s, sizeof s);
    uint64_t room = kernel->resident / j->groups / t.loaders * t.loaders;
    if (t.share == 1 && room && blocks > room)
        blocks = room;
    return kiln_launch(kernel->kernel,
                       &(kiln_launch_desc){.grid = {(uint32_t)blocks, j->groups, t.share},
                                           .shared_bytes = kernel->shared_bytes,
                                           .args = args,
                                           .arg_count = count,
                                           .stream = j->stream,
                                           .overlaps_previous = true});
}

kiln_status conv_sm90_launch(kiln *k, const conv_job *j, bool is_inverse,
                             const conv_weights *weight)
{
    kiln_status status = KILN_OK;
    for (uint32_t first = 0, all = 1; first < all && !status; first += PHASES) {
        problem p;
        if (problem_of(k, j, is_inverse, first, &p))
            return op_refuse(k, j->call, "the kernel for sm_90a is impossible");
        all = p.phases_in_all;
        if (p.count)
            status = launch(k, j, is_inverse, &p, weight);
    }
    return status;
}
