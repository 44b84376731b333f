// kiln_group_norm_forward and kiln_group_norm_backward (ops/planes.h).
#include "ops/planes.h"

kiln_status kiln_group_norm_forward(kiln *k, const kiln_group_norm_desc *d)
{
    const char *call = "kiln_group_norm_forward";
    kiln_status status = op_begin(k, call, d);
    return status ? status
                  : op_planes_run(k, &(op_planes){.call = call,
                                                  .x = d->x,
                                                  .out = d->out,
                                                  .weight = d->weight,
                                                  .bias = d->bias,
                                                  .mean = d->mean,
                                                  .scale = d->scale,
                                                  .workspace = d->workspace,
                                                  .groups = d->groups,
                                                  .eps = d->eps,
                                                  .stream = d->stream});
}

kiln_status kiln_group_norm_backward(kiln *k, const kiln_group_norm_backward_desc *d)
{
    const char *call = "kiln_group_norm_backward";
    kiln_status status = op_begin(k, call, d);
    return status ? status
                  : op_planes_run(k, &(op_planes){.call = call,
                                                  .is_backward = true,
                                                  .x = d->x,
                                                  .out = d->dx,
                                                  .dout = d->dout,
                                                  .weight = d->weight,
                                                  .dweight = d->dweight,
                                                  .dbias = d->dbias,
                                                  .mean = d->mean,
                                                  .scale = d->scale,
                                                  .workspace = d->workspace,
                                                  .groups = d->groups,
                                                  .stream = d->stream});
}
