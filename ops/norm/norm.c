// kiln_norm_forward and kiln_norm_backward: layer norm and root mean square norm of rows along an
// axis. Backward is one launch for x (backward.c) and one for weight and bias (columns.c).
#include "kiln/ops.h"

#include "ops/rows.h"

#define AXIS(id, text, kind, domain) AXIS_##id,
enum {
#include "ops/norm/axes.def"
};
#define AXIS(id, text, what, domain) [AXIS_##id] = {.name = text, .kind = OP_##what, domain},
static const op_axis axes[] = {
#include "ops/norm/axes.def"
};
static const op_program forward = OP_PROGRAM("ops/norm/forward.c", "norm"),
                        backward = OP_PROGRAM("ops/norm/backward.c", "norm_backward"),
                        columns = OP_PROGRAM("ops/norm/columns.c", "norm_columns");

enum { COLUMN_THREADS = 512, COLUMN_BLOCKS = 128 };

static kiln_arg real(double value)
{
    return kiln_arg_f64(KILN_F32, value);
}

// A view of the elements along the axis, for every row of x; of one that is missing x itself.
static kiln_view for_rows(kiln_view v, const kiln_view *x, uint32_t axis)
{
    if (!v.buffer)
        return *x;
    for (uint32_t n = axis + 1; n < x->rank; n++)
        v = kiln_view_unsqueeze(v, v.rank);
    return kiln_view_broadcast(v, x->rank, x->sizes);
}

// What weights and their gradients are: one dimension, as long as the axis.
static kiln_status check_columns(kiln *k, const char *call, const op_operand *o, uint64_t size)
{
    const kiln_view *v = o->view;
    if (!v->buffer || (v->rank == 1 && v->sizes[0] == size))
        return KILN_OK;
    return op_refuse(k, call, "'%s' is not one dimension of %llu", o->name,
                     (unsigned long long)size);
}

static kiln_status check(kiln *k, const char *call, const op_operand *o, size_t count,
                         size_t columns_from, uint32_t axis, double eps, bool *is_in_place)
{
    kiln_status status = op_check_operands(k, call, o, count, is_in_place);
    if (!status)
        status = op_rows_check(k, call, o, count, axis);
    for (size_t n = 1; n < count && !status; n++)
        status = n < columns_from ? op_check_sizes(k, call, &o[n], &o[0])
                                  : check_columns(k, call, &o[n], o->view->sizes[axis]);
    return status || (eps >= 0 && eps < 1) ? status : op_refuse(k, call, "eps is not in 0 … 1");
}

kiln_status kiln_norm_forward(kiln *k, const kiln_norm_desc *d)
{
    const char *call = "kiln_norm_forward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    const op_operand o[] = {
        {.name = "x", .view = &d->x, .may_be_replaced = true},
        {.name = "out", .view = &d->out, .is_result = true},
        {.name = "residual", .view = &d->residual, .is_optional = true, .may_be_replaced = true},
        {.name = "sum", .view = &d->sum, .is_result = true, .is_optional = true},
        {.name = "weight", .view = &d->weight, .is_optional = true},
        {.name = "bias", .view = &d->bias, .is_optional = true}};
    bool is_in_place, is_added = d->residual.buffer != NULL;
    if (is_added != (d->sum.buffer != NULL))
        return op_refuse(k, call, "'residual' and 'sum' go together: one has no buffer");
    status = check(k, call, o, COUNT(o), 4, d->axis, d->eps, &is_in_place);
    if (status || !kiln_view_count(d->x))
        return status;
    const kiln_view views[] = {d->x,
                               d->out,
                               for_rows(d->weight, &d->x, d->axis),
                               for_rows(d->bias, &d->x, d->axis),
                               is_added ? d->residual : d->x,
                               is_added ? d->sum : d->x};
    op_rows rows;
    op_rows_make(views, COUNT(views), d->axis, 4, &rows);
    op_request r = {.program = &forward};
    op_rows_set(&rows, kiln_view_type(d->x), is_in_place, &r);
    op_set(&r, RMS, d->is_rms);
    op_set(&r, WEIGHT, d->weight.buffer != NULL);
    op_set(&r, BIAS, d->bias.buffer != NULL);
    op_set(&r, ADD, is_added);
    const kiln_arg args[] = {kiln_arg_view(views[0]),
                             kiln_arg_view(views[1]),
                             kiln_arg_view(views[2]),
                             kiln_arg_view(views[3]),
                             kiln_arg_view(views[4]),
                             kiln_arg_view(views[5]),
                             kiln_arg_struct(&rows.packs.argument, sizeof rows.packs.argument),
                             real(d->eps),
                             real((double)rows.columns)};
    return op_rows_launch(k, &rows, &r, args, COUNT(args), d->stream);
}

// Weight and bias: after the rows, whose statistics are in the workspace.
static kiln_status run_columns(kiln *k, const kiln_norm_backward_desc *d, const kiln_view *given)
{
    const kiln_view views[] = {d->x, d->dout};
    const kiln_view *gradients[] = {&d->dweight, &d->dbias};
    op_rows rows;
    op_rows_make(views, COUNT(views), d->axis, 4, &rows);
    uint64_t packs = rows.packs.argument.sizes[rows.packs.rank - 1];
    uint32_t width = 32; // lanes of a row: fewer make more blocks
    while (width > 2 && packs / width < COLUMN_BLOCKS)
        width /= 2;
    rows.threads = rows.lanes = COLUMN_THREADS;
    rows.is_across = false;
    rows.blocks = (packs + width - 1) / width;
    rows.per = 1;
    rows.is_whole = false;
    op_request r = {.program = &columns};
    op_rows_set(&rows, kiln_view_type(d->x), false, &r);
    op_set(&r, WIDTH, width);
    op_set(&r, WEIGHT, d->dweight.buffer != NULL);
    op_set(&r, BIAS, d->dbias.buffer != NULL);
    kiln_arg args[9] = {kiln_arg_view(d->x), kiln_arg_view(d->dout), kiln_arg_view(d->workspace)};
    for (uint32_t n = 0; n < 2; n++) {
        bool is_there = gradients[n]->buffer != NULL;
        args[3 + n] = kiln_arg_view(is_there ? *gradients[n] : *given);
        args[7 + n] = kiln_arg_i64(KILN_I64, is_there ? kiln_view_stride(*gradients[n], 0) : 0);
    }
    args[5] = kiln_arg_struct(&rows.packs.argument, sizeof rows.packs.argument);
    args[6] = kiln_arg_i64(KILN_U64, (int64_t)rows.rows);
    return op_rows_launch(k, &rows, &r, args, COUNT(args), d->stream);
}

kiln_status kiln_norm_backward(kiln *k, const kiln_norm_backward_desc *d)
{
    const char *call = "kiln_norm_backward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    bool has_columns = d->dweight.buffer || d->dbias.buffer, is_in_place;
    const op_operand o[] = {
        {.name = "x", .view = &d->x, .may_be_replaced = !has_columns},
        {.name = "dout", .view = &d->dout, .may_be_replaced = !has_columns},
        {.name = "dx", .view = &d->dx, .is_result = true},
        {.name = "dsum", .view = &d->dsum, .is_optional = true, .may_be_replaced = !has_columns},
        {.name = "weight", .view = &d->weight, .is_optional = true},
        {.name = "dweight", .view = &d->dweight, .is_result = true, .is_optional = true},
        {.name = "dbias", .view = &d->dbias, .is_result = true, .is_optional = true}};
    status = check(k, call, o, COUNT(o), 4, d->axis, d->eps, &is_in_place);
    if (!status && !kiln_view_count(d->x)) {
        status = op_set_zero(k, d->dweight, d->stream);
        return status ? status : op_set_zero(k, d->dbias, d->stream);
    }
    if (status)
        return status;
    const kiln_view views[] = {d->x, for_rows(d->weight, &d->x, d->axis), d->dout, d->dx,
                               d->dsum.buffer ? d->dsum : d->x};
    op_rows rows;
    op_rows_make(views, COUNT(views), d->axis, 4, &rows);
    const op_operand workspace = {.name = "workspace", .view = &d->workspace, .is_result = true};
    if (has_columns) {
        status = op_check_operands(k, call, &workspace, 1, NULL);
        if (!status)
            status = op_check_type(k, call, &workspace, KILN_F32);
        if (!status &&
            (kiln_view_count(d->workspace) < 2 * rows.rows || !kiln_view_is_dense(d->workspace)))
            status = op_refuse(k, call, "'workspace' has not 2 numbers for each of %llu rows",
                               (unsigned long long)rows.rows);
    }
    op_request r = {.program = &backward};
    op_rows_set(&rows, kiln_view_type(d->x), is_in_place, &r);
    op_set(&r, RMS, d->is_rms);
    op_set(&r, WEIGHT, d->weight.buffer != NULL);
    op_set(&r, STATISTICS, has_columns);
    op_set(&r, ADD, d->dsum.buffer != NULL);
    kiln_view statistics = has_columns ? d->workspace : d->x;
    statistics.type = KILN_F32;
    const kiln_arg args[] = {kiln_arg_view(views[0]),
                             kiln_arg_view(views[1]),
                             kiln_arg_view(views[2]),
                             kiln_arg_view(views[3]),
                             kiln_arg_view(views[4]),
                             kiln_arg_view(statistics),
                             kiln_arg_struct(&rows.packs.argument, sizeof rows.packs.argument),
                             real(d->eps),
                             real((double)rows.columns)};
    if (!status)
        status = op_rows_launch(k, &rows, &r, args, COUNT(args), d->stream);
    return status || !has_columns ? status : run_columns(k, d, &d->dx);
}
