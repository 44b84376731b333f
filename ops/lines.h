// Rows along an axis, for kernels that walk along it themselves: loops over all other dimensions.
// Ops whose rows are nests of packs use rows.h.
#ifndef KILN_OP_LINES_H
#define KILN_OP_LINES_H

#include "ops/launch.h"
#include "ops/nest.h"

typedef struct op_lines {
    op_nest nest; // over the rows: every dimension but the axis
    uint64_t rows;
} op_lines;

void op_lines_make(const kiln_view *views, uint32_t count, uint32_t axis, op_lines *out);
// op_launch, with the rows in the message about too many blocks.
kiln_status op_lines_launch(kiln *k, const op_lines *lines, op_launch_desc l);

#endif
