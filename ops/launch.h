// Launches of kernels by their variant: the kernel is compiled, or found again (op.h), its blocks
// are counted, and it starts.
#ifndef KILN_OP_LAUNCH_H
#define KILN_OP_LAUNCH_H

#include "ops/op.h"

typedef struct op_launch_desc {
    const op_request *request;
    uint64_t blocks; // more than a grid has are refused
    uint64_t parts;  // second dimension of the grid; 0: 1
    // A block does the work of several: no more are launched than run at the same time.
    bool is_resident;
    // For the message about too many blocks: the call (NULL: not named), and how many of what they
    // are for (NULL: blocks).
    const char *call, *units;
    uint64_t unit_count;
    const kiln_arg *args;
    size_t arg_count;
    kiln_stream *stream;
} op_launch_desc;

kiln_status op_launch(kiln *k, const op_launch_desc *l);
// The same for a grid of one dimension, with its blocks in the message.
kiln_status op_launch_blocks(kiln *k, const op_request *r, uint64_t blocks, const kiln_arg *args,
                             size_t count, kiln_stream *stream);
// The argument `v`; where `v` has no buffer, an element of `instead` as that type, which the kernel
// does not read.
kiln_arg op_launch_view(kiln_view v, kiln_view instead, kiln_type type);

#endif
