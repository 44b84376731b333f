// Rows along an axis, for kernels that walk along it themselves: loops over all other dimensions,
// and launches of blocks that have rows, or parts of them. Ops whose rows are nests of packs use
// rows.h.
#ifndef KILN_OP_LINES_H
#define KILN_OP_LINES_H

#include "ops/nest.h"

typedef struct op_lines {
    op_nest nest; // over the rows: every dimension but the axis
    uint64_t rows;
} op_lines;

typedef struct op_lines_launch {
    const op_request *request;
    uint64_t rows;   // for the message
    uint64_t blocks; // more than a grid has are refused
    uint64_t parts;  // second dimension of the grid; 0: 1
    const kiln_arg *args;
    size_t arg_count;
    kiln_stream *stream;
} op_lines_launch;

void op_lines_make(const kiln_view *views, uint32_t count, uint32_t axis, op_lines *out);
kiln_status op_lines_run(kiln *k, const op_lines_launch *l);
// `v`, or an element of `instead` as that type, which nobody reads, where `v` has no buffer.
kiln_arg op_lines_view(kiln_view v, kiln_view instead, kiln_type type);

#endif
