// kiln_dropout_forward and kiln_dropout_backward: which elements stay is drawn (ops/random), and
// drawn again for the backward pass.
#include "ops/checks.h"
#include "ops/random/host_random.h"

static kiln_status run(kiln *k, const char *call, const char *in, const char *out,
                       const kiln_dropout_desc *d)
{
    kiln_status status = op_begin(k, call, d);
    bool is_in_place;
    if (status)
        return status;
    const op_operand o[] = {
        {.name = in, .view = &d->x, .may_be_replaced = true, .types = &op_types_floats},
        {.name = out, .view = &d->out, .is_result = true, .same = OP_SAME_TYPE | OP_SAME_SIZES}};
    status = op_check_listed(k, call, o, COUNT(o), &is_in_place);
    if (!status && !(d->rate >= 0 && d->rate <= 1))
        status = op_refuse(k, call, "rate is not in 0 … 1");
    return status ? status
                  : op_random_run(k, &(op_random){.kind = RANDOM_DROPOUT,
                                                  .x = d->x,
                                                  .out = d->out,
                                                  .seed = d->seed,
                                                  .offset = d->offset,
                                                  .p = 1 - d->rate,
                                                  .q = d->rate < 1 ? 1 / (1 - d->rate) : 0,
                                                  .is_in_place = is_in_place,
                                                  .stream = d->stream});
}

kiln_status kiln_dropout_forward(kiln *k, const kiln_dropout_desc *d)
{
    return run(k, "kiln_dropout_forward", "x", "out", d);
}

kiln_status kiln_dropout_backward(kiln *k, const kiln_dropout_desc *d)
{
    return run(k, "kiln_dropout_backward", "x (dout)", "out (dx)", d);
}
