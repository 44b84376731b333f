// kiln_softmax_forward and kiln_softmax_backward: rows along an axis, one launch of kernel.c.
#include "kiln/ops.h"

#include "ops/rows.h"

#define AXIS(id, text, kind, domain) AXIS_##id,
enum {
#include "ops/softmax/axes.def"
};
#define AXIS(id, text, what, domain) [AXIS_##id] = {.name = text, .kind = OP_##what, domain},
static const op_axis axes[] = {
#include "ops/softmax/axes.def"
};
static const op_program program = OP_PROGRAM("ops/softmax/kernel.c", "softmax");

// The operands are what is read, then the result; all of one shape.
static kiln_status run(kiln *k, const char *call, const op_operand *o, uint32_t count,
                       uint32_t axis, bool is_log, kiln_stream *stream)
{
    kiln_view views[3];
    kiln_arg args[4];
    bool is_in_place;
    kiln_status status = op_check_operands(k, call, o, count, &is_in_place);
    if (!status)
        status = op_rows_check(k, call, o, count, axis);
    for (uint32_t n = 0; n < count && !status; n++) {
        status = op_check_sizes(k, call, &o[n], &o[0]);
        views[n] = *o[n].view;
        args[n] = kiln_arg_view(views[n]);
    }
    if (status || !kiln_view_count(views[0]))
        return status;
    op_rows rows;
    op_rows_make(views, count, axis, 2, &rows);
    op_request r = {.program = &program};
    op_rows_set(&rows, kiln_view_type(views[0]), is_in_place, &r);
    op_set(&r, BACKWARD, count == 3);
    op_set(&r, LOG, is_log);
    args[count] = kiln_arg_struct(&rows.packs.argument, sizeof rows.packs.argument);
    return op_rows_launch(k, &rows, &r, args, count + 1, stream);
}

kiln_status kiln_softmax_forward(kiln *k, const kiln_softmax_desc *d)
{
    const char *call = "kiln_softmax_forward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    const op_operand o[] = {{.name = "x", .view = &d->x, .may_be_replaced = true},
                            {.name = "out", .view = &d->out, .is_result = true}};
    return run(k, call, o, COUNT(o), d->axis, d->is_log, d->stream);
}

kiln_status kiln_softmax_backward(kiln *k, const kiln_softmax_backward_desc *d)
{
    const char *call = "kiln_softmax_backward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    const op_operand o[] = {{.name = "out", .view = &d->out, .may_be_replaced = true},
                            {.name = "dout", .view = &d->dout, .may_be_replaced = true},
                            {.name = "dx", .view = &d->dx, .is_result = true}};
    return run(k, call, o, COUNT(o), d->axis, d->is_log, d->stream);
}
