// kiln_gather_forward: one launch of kernel.c. Backward is a scatter that adds (ops/scatter).
#include "ops/checks.h"
#include "ops/indexed.h"
#include "ops/moved.h"
#include "ops/scattered.h"
#include "ops/walk.h"

#define AXES "ops/gather/axes.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/gather/kernel.c", "gather");

enum { X, AT, OUT };

typedef struct indexed { // `struct indexed` of the kernel
    uint64_t sizes[KILN_MAX_RANK];
    int64_t strides[KILN_MAX_RANK], step;
} indexed;

// `of` with other strides, over the shape of the elements.
static kiln_view with_strides(kiln_view of, const op_indexed *o, const int64_t *strides)
{
    of.rank = o->rank;
    of.has_strides = true;
    memcpy(of.sizes, o->sizes, sizeof of.sizes);
    memcpy(of.strides, strides, sizeof of.strides);
    return of;
}

static kiln_status run(kiln *k, const kiln_gather_desc *d, const op_indexed *o)
{
    kiln_view x = op_moved_view(d->x), out = op_moved_view(d->out), index = d->index;
    index.type = KILN_U8; // its elements are not packed
    const kiln_view views[] = {with_strides(x, o, o->x), with_strides(index, o, o->index),
                               with_strides(out, o, o->elements)};
    op_packs packs;
    op_walk how = {.widest = op_walk_divide(16, o->axis_strides, o->axis_count),
                   .dense = 1 << X | 1 << OUT,
                   .single = 1 << AT};
    op_walk_make(views, COUNT(views), how, &packs);
    indexed a = {.step = o->step};
    for (uint32_t n = 0; n < o->axis_count; n++) {
        a.sizes[n] = o->axis_sizes[n];
        a.strides[n] = o->axis_strides[n] / (int64_t)packs.width;
    }
    op_request r = {.program = &program};
    op_set(&r, BYTES, kiln_type_size(x.type));
    op_walk_set(&r, &packs);
    op_set(&r, INDEX, kiln_view_type(d->index) == KILN_I64);
    op_set(&r, AXES, o->axis_count);
    const kiln_arg args[] = {kiln_arg_view(x), kiln_arg_view(d->index), kiln_arg_view(out),
                             op_walk_arg(&packs), kiln_arg_struct(&a, sizeof a)};
    uint32_t per = packs.width * kiln_type_size(x.type) == 16 ? 2 : 4; // as PER of the kernel
    return op_walk_launch(k, &r, &packs, per, args, COUNT(args), d->stream);
}

kiln_status kiln_gather_forward(kiln *k, const kiln_gather_desc *d)
{
    const char *call = "kiln_gather_forward";
    op_indexed o;
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    const op_operand operands[] = {
        {.name = "x", .view = &d->x},
        {.name = "index", .view = &d->index},
        {.name = "out", .view = &d->out, .is_result = true, .same = OP_SAME_TYPE}};
    status = op_check_listed(k, call, operands, COUNT(operands), NULL);
    if (!status)
        status = op_indexed_make(k, call, d->form, d->axis, &operands[0], &operands[1],
                                 &operands[2], &o);
    return status || !kiln_view_count(d->out) ? status : run(k, d, &o);
}

static op_scatter scatter_of(const kiln_gather_backward_desc *d)
{
    return (op_scatter){.index = &d->index,
                        .source = &d->dout,
                        .out = &d->dx,
                        .workspace = &d->workspace,
                        .source_name = "dout",
                        .out_name = "dx",
                        .form = d->form,
                        .axis = d->axis,
                        .how = KILN_SCATTER_ADD,
                        .is_from_zero = true,
                        .stream = d->stream};
}

kiln_status kiln_gather_backward_workspace(kiln *k, const kiln_gather_backward_desc *d,
                                           uint64_t *elements)
{
    const char *call = "kiln_gather_backward_workspace";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    op_scatter s = scatter_of(d);
    return op_scatter_workspace(k, call, &s, elements);
}

kiln_status kiln_gather_backward(kiln *k, const kiln_gather_backward_desc *d)
{
    const char *call = "kiln_gather_backward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    op_scatter s = scatter_of(d);
    return op_scatter_run(k, call, &s);
}
