// kiln_batch_norm_forward and kiln_batch_norm_backward: a group is a channel of all items
// (ops/group_norm).
#include "ops/planes.h"

kiln_status kiln_batch_norm_forward(kiln *k, const kiln_batch_norm_desc *d)
{
    const char *call = "kiln_batch_norm_forward";
    kiln_status status = op_begin(k, call, d);
    return status ? status
                  : op_planes_run(k, &(op_planes){.call = call,
                                                  .is_batch = true,
                                                  .is_eval = d->is_eval,
                                                  .x = d->x,
                                                  .out = d->out,
                                                  .weight = d->weight,
                                                  .bias = d->bias,
                                                  .running_mean = d->running_mean,
                                                  .running_variance = d->running_variance,
                                                  .mean = d->mean,
                                                  .scale = d->scale,
                                                  .workspace = d->workspace,
                                                  .eps = d->eps,
                                                  .momentum = d->momentum,
                                                  .stream = d->stream});
}

kiln_status kiln_batch_norm_backward(kiln *k, const kiln_batch_norm_backward_desc *d)
{
    const char *call = "kiln_batch_norm_backward";
    kiln_status status = op_begin(k, call, d);
    return status ? status
                  : op_planes_run(k, &(op_planes){.call = call,
                                                  .is_batch = true,
                                                  .is_backward = true,
                                                  .is_eval = d->is_eval,
                                                  .x = d->x,
                                                  .out = d->dx,
                                                  .dout = d->dout,
                                                  .weight = d->weight,
                                                  .dweight = d->dweight,
                                                  .dbias = d->dbias,
                                                  .mean = d->mean,
                                                  .scale = d->scale,
                                                  .workspace = d->workspace,
                                                  .stream = d->stream});
}
