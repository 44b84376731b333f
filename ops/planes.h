// Norms of channels: batch norm and group norm are the same launches with other groups.
#ifndef KILN_OP_PLANES_H
#define KILN_OP_PLANES_H

#include "kiln/ops.h"

#include "ops/operands.h"

typedef struct op_planes {
    const char *call;
    kiln_view x, out;                         // out: of forward, or dx
    kiln_view dout;                           // of backward
    kiln_view weight, bias;                   // backward: weight, and
    kiln_view dweight, dbias;                 // these results
    kiln_view running_mean, running_variance; // f32, of batch norm; may have no buffer
    kiln_view mean, scale;                    // f32, a number for each group
    kiln_view workspace;                      // f32, dense
    bool is_backward, is_batch, is_eval;
    uint64_t groups; // of group norm: groups of the channels of an item
    double eps, momentum;
    kiln_stream *stream;
} op_planes;

kiln_status op_planes_run(kiln *k, const op_planes *p);

#endif
