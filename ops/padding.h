// Launches of the kernels in which every output is one input along each axis, as ops/pad and
// ops/upsample have them: padding, cropping, tiling, rolling, upsampling to the nearest.
#ifndef KILN_OP_PADDING_H
#define KILN_OP_PADDING_H

#include "kiln/ops.h"

#include "ops/operands.h"

enum { PAD_NEAREST = KILN_PAD_CIRCULAR + 1 }; // beside the kiln_pad_modes

typedef struct op_pad {
    uint32_t mode;
    kiln_view in, out; // of the same type and rank
    int64_t before[KILN_MAX_RANK];
    double value;
    bool is_backward; // in is the result: the sum of the outputs that are it
    kiln_stream *stream;
} op_pad;

// Fills in the operands `in` and `out`, as messages name them, and checks them: views of one type
// and rank; in a backward pass, of floats.
kiln_status op_pad_check(kiln *k, const char *call, const op_pad *pad, op_operand o[2]);
// The operands have been checked.
kiln_status op_pad_run(kiln *k, const char *call, const op_pad *pad);

#endif
