// kiln_pool_forward and kiln_pool_backward: windows over the space of a tensor (ops/window.h), one
// launch of kernel.c, or of the kernels for small windows (host_fixed.h).
#include "kiln/ops.h"

#include "ops/checks.h"
#include "ops/pool/host_fixed.h"
#include "ops/scratch.h"
#include "ops/window.h"

#define AXES "ops/pool/axes.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/pool/kernel.c", "pool");

enum { THREADS = 256 };

enum { LARGE, SMALL, INDICES, OPERANDS }; // the tensor under the windows, that of their results

// A window without a size is all of the space, one without a stride moves by its size.
static void set_defaults(kiln_pool_desc *p)
{
    for (uint32_t d = 0; d < WINDOW_SPACE; d++) {
        uint32_t *size = &p->shape.size[d], *stride = &p->shape.window.stride[d];
        *size = *size ? *size : (uint32_t)op_min(p->x.sizes[2 + d], UINT32_MAX);
        *stride = *stride ? *stride : *size;
    }
}

static kiln_status check_space(kiln *k, const char *call, const kiln_pool_desc *p,
                               const op_operand *o, uint32_t d)
{
    const kiln_window *w = &p->shape.window;
    uint64_t taps = p->shape.size[d], large = p->x.sizes[2 + d];
    uint64_t reach = (w->dilation[d] ? w->dilation[d] : 1) * (taps - 1) + 1;
    if (p->shape.is_adaptive)
        return large && large <= INT32_MAX && p->out.sizes[2 + d] <= INT32_MAX
                   ? KILN_OK
                   : op_refuse(k, call, "'%s' has no element along dimension %u of space",
                               o[LARGE].name, d);
    if (w->pad_before[d] >= reach || w->pad_after[d] >= reach)
        return op_refuse(k, call,
                         "along dimension %u of space the padding is as long as the window", d);
    return op_window_check(k, call, &o[LARGE], &o[SMALL], d, taps, w, true);
}

static kiln_status check(kiln *k, const char *call, const kiln_pool_desc *p, const op_operand *o)
{
    bool has_indices = p->indices.buffer, is_max = p->shape.kind == KILN_POOL_MAX;
    kiln_status status = op_check_listed(k, call, o, OPERANDS, NULL);
    if (!status && (unsigned)p->shape.kind > KILN_POOL_AVERAGE)
        status = op_refuse(k, call, "there is no pooling %d", (int)p->shape.kind);
    if (!status && (p->x.rank < 3 || p->x.rank > 5 || p->out.rank != p->x.rank ||
                    p->x.sizes[0] != p->out.sizes[0] || p->x.sizes[1] != p->out.sizes[1] ||
                    p->x.sizes[1] > INT32_MAX))
        status = op_refuse(k, call,
                           "'%s' and '%s' must be [batch, channels, space…] with the same batch "
                           "and channels",
                           o[LARGE].name, o[SMALL].name);
    for (uint32_t d = 0; d + 2 < p->x.rank && !status; d++)
        status = check_space(k, call, p, o, d);
    if (!status && has_indices && !is_max)
        status = op_refuse(k, call, "an average has no indices");
    if (!status)
        status = op_check_sizes(k, call, &o[INDICES], &o[SMALL]);
    if (!status && !has_indices && is_max && o[LARGE].is_result)
        status = op_refuse(k, call,
                           "'indices' is missing: kiln_pool_forward gives them, and a maximum has "
                           "no gradient without them");
    return status;
}

// One window over all of the space: a reduction, whose rows may be many threads'.
static bool is_global(const kiln_pool_desc *p, const op_window *w)
{
    bool is_all = !p->indices.buffer;
    for (uint32_t d = 0; d < WINDOW_SPACE; d++)
        is_all &= w->to_space[d] == 1 && w->from_space[d] &&
                  (p->shape.is_adaptive ||
                   (w->taps[d] == w->from_space[d] && w->dilation[d] == 1 && !w->pad[d]));
    return is_all;
}

static kiln_status run_global(kiln *k, const kiln_pool_desc *p)
{
    kiln_reduce_desc d = {.op = p->shape.kind == KILN_POOL_MAX ? KILN_REDUCE_MAX : KILN_REDUCE_MEAN,
                          .x = p->x,
                          .out = p->out,
                          .axes = ((uint32_t)1 << p->x.rank) - 4, // all but batch and channel
                          .stream = p->stream};
    uint64_t bytes = 0;
    kiln_status status = kiln_reduce_workspace(k, &d, &bytes);
    if (!status && bytes) {
        kiln_buffer *own;
        const op_scratch want = {OP_KEEP_POOL_SCRATCH, "kiln_pool_forward", KILN_U8, bytes, 0};
        status = op_scratch_of(k, &want, p->stream, &own);
        if (!status)
            d.workspace = kiln_view_all(own);
    }
    return status ? status : kiln_reduce_forward(k, &d);
}

// Backward: x and out of the description are dx and dout.
static kiln_status run(kiln *k, const char *call, kiln_pool_desc pool, bool is_b)
{
    const kiln_pool_desc *p = &pool;
    static const op_types index = {OP_INDICES, ", not i32 or i64"};
    bool is_max = p->shape.kind == KILN_POOL_MAX, has_indices = p->indices.buffer;
    const op_operand o[OPERANDS] = {
        {is_b ? "dx" : "x", &p->x, .is_result = is_b, .types = &op_types_floats},
        {is_b ? "dout" : "out", &p->out, .is_result = !is_b, .same = OP_SAME_TYPE},
        {"indices", &p->indices, .is_result = !is_b, .is_optional = true,
         .types = is_max ? &index : NULL}};
    const kiln_view *from = is_b ? &p->out : &p->x, *to = is_b ? &p->x : &p->out;
    const kiln_view *views[] = {from, to, &p->indices};
    set_defaults(&pool);
    kiln_status status = check(k, call, p, o);
    if (status || !kiln_view_count(*to))
        return status;
    op_window w;
    op_window_make(from, to, &p->shape.window, &w);
    w.count = kiln_view_count(*to);
    w.channels = (uint32_t)to->sizes[1];
    uint32_t space = to->rank - 2, first = WINDOW_SPACE - space;
    memcpy(&w.taps[first], p->shape.size, space * sizeof *w.taps);
    if (!is_b && is_global(p, &w))
        return run_global(k, p);
    op_request r = {.program = &program};
    op_set(&r, T, op_type_float_axis(kiln_view_type(*to)));
    op_set(&r, MAX, is_max);
    op_set(&r, BACKWARD, is_b);
    op_set(&r, ADAPTIVE, p->shape.is_adaptive);
    op_set(&r, ALL_COUNT, p->shape.counts_padding);
    op_set(&r, HAS_INDICES, has_indices);
    if (has_indices) {
        op_window_steps(&p->indices, w.other);
        op_set(&r, INDEX, kiln_view_type(p->indices) == KILN_I64);
    }
    const pool_fixed_desc fixed = {
        &r, &w, {from, to, has_indices ? &p->indices : NULL}, is_b, p->stream};
    if (!p->shape.is_adaptive && pool_run_fixed(k, &fixed, &status))
        return status;
    op_set(&r, SPACE, space);
    op_set(&r, LONG, w.count > INT32_MAX);
    op_set(&r, CHANNELS_LAST, w.to[1] == 1 || w.to[1] == -1);
    return op_window_launch(k, call, &r, &w, views, has_indices ? 3 : 2,
                            op_ceil_div(w.count, THREADS), p->stream);
}

kiln_status kiln_pool_forward(kiln *k, const kiln_pool_desc *d)
{
    const char *call = "kiln_pool_forward";
    kiln_status status = op_begin(k, call, d);
    return status ? status : run(k, call, *d, false);
}

kiln_status kiln_pool_backward(kiln *k, const kiln_pool_backward_desc *d)
{
    const char *call = "kiln_pool_backward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    kiln_pool_desc pool = {d->dx, d->dout, d->indices, d->shape, d->stream};
    return run(k, call, pool, true);
}
