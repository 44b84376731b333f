// kiln_norm_forward and kiln_norm_backward: layer norm and root mean square norm of rows along an
// axis. Backward is one launch for x (backward.c) and one for weight and bias (columns.c).
#include "ops/launch.h"
#include "ops/norm/host_short.h"

#define AXES "ops/norm/axes.def"
#include "ops/axes.h"

static const op_program forward = OP_PROGRAM("ops/norm/forward.c", "norm"),
                        played = OP_PROGRAM("ops/norm/row.c", "norm_row"),
                        backward = OP_PROGRAM("ops/norm/backward.c", "norm_backward"),
                        columns = OP_PROGRAM("ops/norm/columns.c", "norm_columns");

static kiln_status begin(kiln *k, op_rows_call *c, double eps)
{
    kiln_status status = op_rows_begin(k, c);
    return status || (eps >= 0 && eps <= 1) ? status : op_refuse(k, c->name, "eps is not in 0 … 1");
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
        {.name = "weight", .view = &d->weight, .is_column = true, .axis = AXIS_WEIGHT},
        {.name = "bias", .view = &d->bias, .is_column = true, .axis = AXIS_BIAS},
        {.name = "residual", .view = &d->residual, .is_optional = true, .may_be_replaced = true},
        {.name = "sum", .view = &d->sum, .is_result = true, .is_optional = true, .axis = AXIS_ADD}};
    op_rows_call c = {call, o, COUNT(o), d->axis, .played = &played};
    if (!d->residual.buffer != !d->sum.buffer)
        return op_refuse(k, call, "'residual' and 'sum' go together: one has no buffer");
    status = begin(k, &c, d->eps);
    if (status || c.is_empty || norm_short(k, &c, d, &status))
        return status;
    op_rows_plan(&c, &forward, COUNT(o), 4, 4); // x, weight, bias, residual
    op_set(&c.request, RMS, d->is_rms);
    op_rows_add_f32(&c, 2, (double[]){d->eps, 1 / (double)c.rows.columns});
    return op_rows_run(k, &c, d->stream);
}

// Weight and bias: after the rows, whose statistics are in the workspace by their numbers.
static kiln_status run_columns(kiln *k, const kiln_norm_backward_desc *d)
{
    const op_operand o[] = {{.view = &d->x}, {.view = &d->dout}};
    op_rows_call c = {.operands = o, .axis = d->axis, .is_by_x = true};
    op_rows_plan(&c, &columns, COUNT(o), 4, 2);
    op_set(&c.request, WIDTH, op_rows_plan_columns(&c));
    op_set(&c.request, WEIGHT, d->dweight.buffer != NULL);
    op_set(&c.request, BIAS, d->dbias.buffer != NULL);
    op_rows_add(&c, kiln_arg_view(d->workspace));
    op_rows_add(&c, kiln_arg_i64(KILN_U64, (int64_t)c.rows.rows));
    for (uint32_t n = 0; n < 2; n++) {
        kiln_view v = n ? d->dbias : d->dweight;
        op_rows_add(&c, kiln_arg_view(v.buffer ? v : d->dx));
        op_rows_add(&c, kiln_arg_i64(KILN_I64, v.buffer ? kiln_view_stride(v, 0) : 0));
    }
    return op_rows_run(k, &c, d->stream);
}

kiln_status kiln_norm_backward(kiln *k, const kiln_norm_backward_desc *d)
{
    const char *call = "kiln_norm_backward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    bool has_columns = d->dweight.buffer || d->dbias.buffer;
    const op_operand o[] = {
        {.name = "x", .view = &d->x, .may_be_replaced = !has_columns},
        {.name = "weight", .view = &d->weight, .is_column = true, .axis = AXIS_WEIGHT},
        {.name = "dout", .view = &d->dout, .may_be_replaced = !has_columns},
        {.name = "dx", .view = &d->dx, .is_result = true},
        {.name = "dsum", .view = &d->dsum, .is_optional = true, .may_be_replaced = !has_columns},
        {.name = "dweight", .view = &d->dweight, .is_result = true, .is_column = true},
        {.name = "dbias", .view = &d->dbias, .is_result = true, .is_column = true}};
    const op_operand workspace = {.name = "workspace", .view = &d->workspace, .is_result = true};
    op_rows_call c = {call, o, COUNT(o), d->axis, .is_by_x = has_columns}; // for run_columns
    status = begin(k, &c, d->eps);
    if (!status && c.is_empty)
        status = op_set_zero(k, d->dweight, d->stream);
    if (status || c.is_empty)
        return status ? status : op_set_zero(k, d->dbias, d->stream);
    op_rows_plan(&c, &backward, 5, 4, 2);
    status = op_check_room(k, call, &workspace, KILN_F32, has_columns ? c.rows.rows : 0, 2);
    if (status)
        return status;
    op_set(&c.request, RMS, d->is_rms);
    op_set(&c.request, STATISTICS, has_columns);
    op_set(&c.request, ADD, d->dsum.buffer != NULL);
    // without statistics dx stands in their place, not x, which may be read-only
    op_rows_add(&c, has_columns ? kiln_arg_view(d->workspace)
                                : op_launch_view((kiln_view){0}, d->dx, KILN_F32));
    op_rows_add_f32(&c, 2, (double[]){d->eps, 1 / (double)c.rows.columns});
    status = op_rows_run(k, &c, d->stream);
    return status || !has_columns ? status : run_columns(k, d);
}
