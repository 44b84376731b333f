// kiln_upsample_forward and kiln_upsample_backward: to the nearest by the kernels of ops/pad,
// linear by linear.c and twice.c.
#include "ops/checks.h"
#include "ops/moved.h"
#include "ops/padding.h"
#include "ops/walk.h"
#include "rt/memory/view.h"

#define AXES "ops/upsample/axes.def"
#include "ops/axes.h"
static const op_program forward = OP_PROGRAM("ops/upsample/linear.c", "upsample"),
                        twice = OP_PROGRAM("ops/upsample/twice.c", "upsample_twice"),
                        backward = OP_PROGRAM("ops/upsample/linear.c", "upsample_backward");

enum { READ, WRITTEN, FIRST, AXES = 3 };

typedef struct axis { // `struct axis` of the kernel
    uint64_t in, out;
    int64_t stride;
    double scale;
} axis;

static double scale_of(bool aligns_corners, uint64_t in, uint64_t out)
{
    return !aligns_corners ? (double)in / (double)out
           : out > 1       ? (double)(in - 1) / (double)(out - 1)
                           : 0;
}

// Packs for twice.c, where rows in memory become twice as long; false: they do not, or there are
// none. On the cpu device elements are vectors of a warp.
static bool pack_twice(kiln *k, const kiln_upsample_desc *u, const kiln_view *views,
                       const axis *along, uint32_t count, op_packs *packs)
{
    uint32_t last = u->x.rank - 1, size = (uint32_t)view_element_size(&views[READ]);
    const axis *a = &along[count - 1];
    if (!u->x.rank || !views[FIRST + count - 1].strides[last] || u->aligns_corners ||
        a->in * 2 != a->out || a->stride != 1 || op_is_in_turn(k))
        return false;
    op_walk how = {.widest = 16 / size, .dense = 1 << WRITTEN | 1 << (FIRST + count - 1)};
    for (; how.widest >= 4; how.widest /= 2) {
        op_walk_make(views, FIRST + count + 1, how, packs);
        bool is_aligned = view_is_aligned(&u->x, how.widest / 2 * size);
        for (uint32_t n = 0; n + 1 < count; n++)
            is_aligned &= along[n].stride % (how.widest / 2) == 0;
        for (uint32_t d = 0; d < packs->rank; d++)
            is_aligned &= packs->argument.strides[READ][d] % (how.widest / 2) == 0;
        if (packs->width == how.widest && is_aligned)
            return true;
    }
    return false;
}

static kiln_status run_linear(kiln *k, const char *call, const kiln_upsample_desc *u,
                              bool is_backward)
{
    kiln_view read = is_backward ? u->out : u->x, written = is_backward ? u->x : u->out;
    kiln_view views[FIRST + AXES + 1] = {[READ] = read, [WRITTEN] = written};
    axis a[AXES] = {{0}};
    uint32_t count = 0;
    views[READ].has_strides = true;
    for (uint32_t d = 0; d < written.rank; d++) {
        uint64_t in = u->x.sizes[d], out = u->out.sizes[d];
        views[READ].strides[d] = in == out ? kiln_view_stride(read, d) : 0;
        views[READ].sizes[d] = written.sizes[d];
        if (in == out)
            continue;
        if (count == AXES)
            return op_refuse(k, call, "more than three dimensions are interpolated");
        views[FIRST + count] = op_index_view(written, d);
        a[count++] =
            (axis){in, out, kiln_view_stride(read, d), scale_of(u->aligns_corners, in, out)};
    }
    if (!count) { // nothing to interpolate: one axis of one
        views[FIRST] = op_index_view(written, KILN_MAX_RANK);
        a[count++] = (axis){1, 1, 0, 1};
    }
    views[FIRST + count] = written; // the loops are sorted by the last one
    op_packs packs;
    bool is_twice = !is_backward && pack_twice(k, u, views, a, count, &packs);
    if (!is_twice)
        op_walk_make(views, FIRST + count + 1, (op_walk){.widest = 1}, &packs);
    packs.is_long |= kiln_view_count(read) >> 31 != 0;
    op_request r = {.program = is_backward ? &backward : is_twice ? &twice : &forward};
    if (is_twice)
        op_set(&r, V, packs.width);
    op_set(&r, T, op_type_float_axis(kiln_view_type(read)));
    op_set(&r, AXES, count);
    op_set(&r, CORNERS, u->aligns_corners);
    op_walk_set_loops(&r, &packs);
    bool is_outer = !is_backward; // the outermost loop: no axis that is interpolated along
    for (uint32_t n = 0; n < count; n++)
        is_outer &= !packs.argument.strides[FIRST + n][0];
    op_turns turns;
    int64_t(*strides)[KILN_MAX_RANK] = packs.argument.strides;
    if (is_outer)
        op_walk_turn_even(k, &r, &packs, WALK_TURNS, strides[READ][0], strides[WRITTEN][0], &turns);
    else
        op_walk_turn(&packs, false, 0, 0, &turns);
    const kiln_arg args[] = {kiln_arg_view(read), kiln_arg_view(written), op_walk_arg(&packs),
                             kiln_arg_struct(a, sizeof a), kiln_arg_struct(&turns, sizeof turns)};
    return op_walk_launch(k, &r, &packs, 1, args, COUNT(args) - is_backward, u->stream);
}

// Backward: x and out of the description are dx and dout.
static kiln_status run(kiln *k, const char *call, const kiln_upsample_desc *u, bool is_backward)
{
    const op_pad nearest = {.mode = PAD_NEAREST,
                            .in = u->x,
                            .out = u->out,
                            .is_backward = is_backward,
                            .stream = u->stream};
    op_operand o[2];
    kiln_status status = op_pad_check(k, call, &nearest, o);
    if (!status && (unsigned)u->mode > KILN_UPSAMPLE_LINEAR)
        status = op_refuse(k, call, "there is no mode %d", (int)u->mode);
    if (!status && u->mode == KILN_UPSAMPLE_LINEAR)
        status = op_check_types(k, call, &o[0], &op_types_floats);
    for (uint32_t d = 0; d < u->x.rank && !status; d++)
        if (!u->x.sizes[d] != !u->out.sizes[d])
            status = op_refuse(k, call, "dimension %u is empty in one of '%s' and '%s'", d,
                               o[0].name, o[1].name);
    if (status || !kiln_view_count(u->x))
        return status;
    return u->mode == KILN_UPSAMPLE_LINEAR ? run_linear(k, call, u, is_backward)
                                           : op_pad_run(k, call, &nearest);
}

kiln_status kiln_upsample_forward(kiln *k, const kiln_upsample_desc *d)
{
    kiln_status status = op_begin(k, __func__, d);
    return status ? status : run(k, __func__, d, false);
}

kiln_status kiln_upsample_backward(kiln *k, const kiln_upsample_backward_desc *d)
{
    kiln_status status = op_begin(k, __func__, d);
    if (status)
        return status;
    const kiln_upsample_desc u = {d->dx, d->dout, d->mode, d->aligns_corners, d->stream};
    return run(k, __func__, &u, true);
}
