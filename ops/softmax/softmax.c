// kiln_softmax_forward and kiln_softmax_backward: rows along an axis, one launch of kernel.c
// or, where they lie side by side, of across.c.
#include "kiln/ops.h"

#include "ops/softmax/host_across.h"

#define AXES "ops/softmax/axes.def"
#include "ops/axes.h"

static const op_program program = OP_PROGRAM("ops/softmax/kernel.c", "softmax"),
                        played = OP_PROGRAM("ops/softmax/row.c", "softmax_row");

// Rows of 16 bits that need the largest blocks: one fills an SM, and nobody else there would
// compute while it loads. It takes several rows then, and copies the next one meanwhile. Those of
// f32 are twice as many bytes, in which what a block waits for is lost.
static bool is_ahead(kiln *k, const op_rows_call *c)
{
    enum { LARGEST = 1024, PACK = 16, STATIC_BYTES = 1024 };
    const kiln_device_info *info;
    const op_rows *r = &c->rows;
    size_t size = kiln_type_size(kiln_view_type(*c->operands->view));
    bool can_copy = k->caps.has_nv && (!k->caps.sm || k->caps.sm >= 80);
    uint64_t bytes = (uint64_t)r->threads * r->per * PACK + STATIC_BYTES;
    return can_copy && size == 2 && r->per && r->threads == LARGEST && r->lanes == LARGEST &&
           !r->is_across && r->packs.width * size == PACK && bytes <= k->caps.shared_bytes &&
           !op_device(k, &info) && r->rows > info->multiprocessors;
}

static kiln_status run(kiln *k, op_rows_call *c, bool is_log, kiln_stream *stream)
{
    kiln_status status = op_rows_begin(k, c);
    if (status || c->is_empty || softmax_across(k, c, is_log, stream, &status))
        return status;
    uint32_t rows = c->count - 1; // backward has two
    op_rows_plan(c, &program, c->count, 4 / rows, rows);
    c->rows.takes_several = rows == 1 && is_ahead(k, c);
    op_set(&c->request, AHEAD, c->rows.takes_several);
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
    op_rows_call c = {call, o, COUNT(o), d->axis, .played = &played};
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
