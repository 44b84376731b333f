// From a window to loops, packs and steps of fixed.c, along.c and fixed_backward.c (host_fixed.h).
#include "ops/pool/host_fixed.h"

#include <stdlib.h>

#include "ops/walk.h"
#include "rt/memory/view.h"

#define AXES "ops/pool/axes.def"
#include "ops/axes.h"
static const op_program forward = OP_PROGRAM("ops/pool/fixed.c", "pool_fixed"),
                        along = OP_PROGRAM("ops/pool/along.c", "pool_along"),
                        backward = OP_PROGRAM("ops/pool/fixed_backward.c", "pool_fixed_backward");

enum { FROM, TO, INDICES, VIEWS, LOOPS = 5, MOST_TAPS = 32 };

typedef struct fixed { // `struct fixed` of fixed.h
    uint32_t sizes[WINDOW_SPACE], windows[WINDOW_SPACE], taps[WINDOW_SPACE];
    uint32_t stride[WINDOW_SPACE], pad[WINDOW_SPACE], pad_after[WINDOW_SPACE];
    int32_t steps[WINDOW_SPACE], other[WINDOW_SPACE];
    int64_t indices_turn;
} fixed;

// Do the places of a space with these steps have 31 bits? An empty space has no nearest one.
static bool is_near(const uint32_t *space, const int64_t *steps)
{
    uint64_t count = 1, reach = 0;
    for (uint32_t d = 0; d < WINDOW_SPACE; d++) {
        uint64_t far = op_product((uint64_t)llabs(steps[d]), space[d]);
        count = op_product(count, space[d]);
        reach = far > INT32_MAX || reach > INT32_MAX ? UINT64_MAX : reach + far;
    }
    return count && count <= INT32_MAX && reach <= INT32_MAX;
}

// How many windows reach an element at most.
static uint32_t windows_of(const op_window *w, uint32_t d)
{
    return (uint32_t)op_ceil_div(w->taps[d], w->stride[d]);
}

static bool is_fixed(const pool_fixed_desc *p)
{
    const op_window *w = p->window;
    uint64_t taps = 1;
    for (uint32_t d = 0; d < WINDOW_SPACE; d++) {
        if (w->taps[d] > 1 && w->dilation[d] > 1)
            return false;
        taps *= op_min(p->is_backward ? windows_of(w, d) : w->taps[d], MOST_TAPS + 1);
    }
    return taps <= MOST_TAPS && is_near(w->from_space, &w->from[2]) &&
           is_near(w->to_space, &w->to[2]) &&
           (!p->views[INDICES] ||
            is_near(p->is_backward ? w->from_space : w->to_space, &w->other[2]));
}

// The loops over what is written. Along space the others are where the windows say.
static op_nest loops_of(const pool_fixed_desc *p, bool is_last)
{
    const op_window *w = p->window;
    op_nest n = {.rank = LOOPS,
                 .view_count = p->views[INDICES] ? VIEWS : INDICES,
                 .is_of_rows = true,
                 .widest = is_last ? 16 : 1};
    const int64_t *const steps[] = {w->from, w->to, w->other};
    uint32_t space = is_last ? 1 : 2, channel = is_last ? LOOPS - 1 : 1;
    bool is_one = !is_last; // batches and channels are one loop
    for (uint32_t v = 0; v < n.view_count; v++) {
        is_one &= steps[v][0] == steps[v][1] * (int64_t)w->channels;
        n.widest = op_walk_divide(n.widest, &steps[v][2], WINDOW_SPACE);
    }
    uint64_t batches = p->views[TO]->sizes[0];
    n.sizes[0] = is_one ? batches * w->channels : batches;
    n.sizes[channel] = is_one ? 1 : w->channels;
    for (uint32_t d = 0; d < WINDOW_SPACE; d++)
        n.sizes[space + d] = w->to_space[d];
    for (uint32_t v = 0; v < n.view_count; v++) {
        n.strides[v][0] = steps[v][is_one];
        n.strides[v][channel] = is_one ? 0 : steps[v][1];
        bool is_walked = v == TO || (v == INDICES && !p->is_backward);
        for (uint32_t d = 0; d < WINDOW_SPACE && is_walked; d++)
            n.strides[v][space + d] = steps[v][2 + d];
    }
    return n;
}

// Elements of a row that windows side by side have before and behind a step for each of them.
typedef struct edges {
    uint32_t before, after;
} edges;

static edges edges_of(const op_window *w)
{
    uint32_t end = w->stride[2] + w->pad[2];
    return (edges){w->pad[2], w->taps[2] > end ? w->taps[2] - end : 0};
}

// How many results side by side a thread of along.c has, and the loops over them; 1: that kernel
// does not have such windows. On the cpu device the elements of a warp are a vector without packs.
static uint32_t pack_along(const kiln *k, const pool_fixed_desc *p, const kiln_view *views,
                           op_packs *packs)
{
    enum { ROWS = 9, EDGES = 4 };
    const op_window *w = p->window;
    uint32_t stride = w->stride[2], elements = 16 / (uint32_t)view_element_size(&views[FROM]);
    uint64_t end = (uint64_t)w->to_space[2] * stride;
    edges e = edges_of(w);
    bool has_rows = w->from[4] == 1 && end <= w->from_space[2] && w->taps[2] > 1 &&
                    w->taps[0] * w->taps[1] <= ROWS && e.before + e.after <= EDGES;
    if (p->is_backward || op_is_in_turn(k) || !has_rows || elements % stride)
        return 1;
    op_nest nest = loops_of(p, false);
    const int64_t steps[] = {nest.strides[FROM][0], nest.strides[FROM][1], w->from[2], w->from[3]};
    const uint64_t sizes[] = {nest.sizes[0], nest.sizes[1], w->from_space[0], w->from_space[1]};
    for (nest.widest = elements / stride; nest.widest > 1; nest.widest /= 2) {
        op_nest_pack(&nest, views, packs);
        uint32_t wide = packs->width * stride;
        bool is_aligned = view_is_aligned(&views[FROM], wide * view_element_size(&views[FROM]));
        for (uint32_t n = 0; n < COUNT(steps); n++)
            is_aligned &= sizes[n] == 1 || steps[n] % wide == 0;
        if (packs->width > 1 && is_aligned)
            return packs->width;
    }
    return 1;
}

static fixed fixed_of(const pool_fixed_desc *p, int64_t width, bool *is_whole)
{
    const op_window *w = p->window;
    fixed f = {.steps = {0}};
    *is_whole = true;
    for (uint32_t d = 0; d < WINDOW_SPACE; d++) {
        f.sizes[d] = p->is_backward ? w->to_space[d] : w->from_space[d];
        f.windows[d] = p->is_backward ? w->from_space[d] : w->to_space[d];
        f.taps[d] = w->taps[d];
        f.stride[d] = w->stride[d];
        f.pad[d] = w->pad[d];
        f.pad_after[d] = w->pad_after[d];
        f.steps[d] = (int32_t)(w->from[2 + d] / width);
        f.other[d] = (int32_t)(w->other[2 + d] / width);
        uint64_t end = (uint64_t)(f.windows[d] - 1) * w->stride[d] + w->taps[d];
        *is_whole &= !w->pad[d] && end <= f.sizes[d];
    }
    return f;
}

bool pool_run_fixed(kiln *k, const pool_fixed_desc *p, kiln_status *status)
{
    const op_window *w = p->window;
    bool has_indices = p->views[INDICES] != NULL;
    bool is_last =
        w->channels > 1 && w->from[1] == 1 && w->to[1] == 1 && (!has_indices || w->other[1] == 1);
    if (!is_fixed(p))
        return false;
    const kiln_view views[VIEWS] = {*p->views[FROM], *p->views[TO],
                                    has_indices ? *p->views[INDICES] : (kiln_view){0}};
    op_packs packs;
    bool is_along = !is_last && pack_along(k, p, views, &packs) > 1;
    if (!is_along) {
        op_nest nest = loops_of(p, is_last);
        op_nest_pack(&nest, views, &packs);
    }
    if (packs.is_long)
        return false;
    bool is_whole;
    op_turns turns;
    fixed f = fixed_of(p, is_along ? 1 : packs.width, &is_whole);
    op_request r = *p->request;
    r.program = p->is_backward ? &backward : is_along ? &along : &forward;
    op_set(&r, CHANNELS_LAST, is_last);
    op_set(&r, V, packs.width);
    op_set(&r, TAPS0, p->is_backward ? windows_of(w, 0) : w->taps[0]);
    op_set(&r, TAPS1, p->is_backward ? windows_of(w, 1) : w->taps[1]);
    op_set(&r, TAPS2, p->is_backward ? windows_of(w, 2) : w->taps[2]);
    if (!p->is_backward)
        op_set(&r, WHOLE, is_whole);
    if (is_along) {
        op_set(&r, STRIDE, w->stride[2]);
        op_set(&r, WIDE, packs.width * w->stride[2]);
        op_set(&r, BEFORE, edges_of(w).before);
        op_set(&r, AFTER, edges_of(w).after);
    } else if (!p->is_backward) {
        op_set(&r, DENSE_ROWS, f.steps[2] == 1);
    }
    int64_t(*strides)[KILN_MAX_RANK] = packs.argument.strides;
    op_walk_turn_even(k, &r, &packs, WALK_TURNS, strides[FROM][0], strides[TO][0], &turns);
    f.indices_turn = strides[INDICES][0] * (int64_t)packs.argument.sizes[0];
    kiln_arg args[VIEWS + 3];
    uint32_t count = 0;
    for (; count < packs.view_count; count++)
        args[count] = kiln_arg_view(views[count]);
    packs.view_count = VIEWS;
    args[count++] = op_nest_arg(&packs, LOOPS);
    args[count++] = kiln_arg_struct(&f, sizeof f);
    args[count++] = kiln_arg_struct(&turns, sizeof turns);
    *status = op_walk_launch(k, &r, &packs, 1, args, count, p->stream);
    return true;
}
