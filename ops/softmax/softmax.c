// kiln_softmax_forward and kiln_softmax_backward: rows along an axis, one launch of kernel.c.
#include "kiln/ops.h"

#include "ops/rows.h"

#define AXES "ops/softmax/axes.def"
#include "ops/axes.h"

static const op_program program = OP_PROGRAM("ops/softmax/kernel.c", "softmax");

static kiln_status run(kiln *k, op_rows_call *c, bool is_log, kiln_stream *stream)
{
    kiln_status status = op_rows_begin(k, c);
    if (status || c->is_empty)
        return status;
    uint32_t rows = c->count - 1; // backward has two
    op_rows_plan(c, &program, c->count, 4 / rows, rows);
    op_set(&c->request, BACKWARD, c->count == 3);
    op_set(&c->request, LOG, is_log);
    return op_rows_run(k, c, stream);
}

kiln_status kiln_softmax_forward(kiln *k, const kiln_softmax_desc *d)
{
    const char *call = "kiln_softmax_forward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    const op_operand o[] = {{.name = "x", .view = &d->x, .may_be_replaced = true},
                            {.name = "out", .view = &d->out, .is_result = true}};
    op_rows_call c = {.name = call, .operands = o, .count = COUNT(o), .axis = d->axis};
    return run(k, &c, d->is_log, d->stream);
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
    op_rows_call c = {.name = call, .operands = o, .count = COUNT(o), .axis = d->axis};
    return run(k, &c, d->is_log, d->stream);
}
