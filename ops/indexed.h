// Elements of a tensor x whose index along some axes is read from an index tensor: what gathers and
// scatters have in common.
#ifndef KILN_OP_INDEXED_H
#define KILN_OP_INDEXED_H

#include "kiln/ops.h"

#include "ops/operands.h"

// All strides are over the shape of the elements: out of a gather, the source of a scatter.
typedef struct op_indexed {
    uint32_t rank;
    uint64_t sizes[KILN_MAX_RANK];
    int64_t elements[KILN_MAX_RANK];   // their strides
    int64_t x[KILN_MAX_RANK];          // of x; 0 where its index is read
    int64_t index[KILN_MAX_RANK];      // of the index tensor; 0 where it has no such dimension
    bool is_own[KILN_MAX_RANK];        // a dimension of x, too
    uint64_t own_sizes[KILN_MAX_RANK]; // its size in x, where it is
    uint32_t axis_count;               // axes of x whose index is read
    uint64_t axis_sizes[KILN_MAX_RANK];
    int64_t axis_strides[KILN_MAX_RANK], step; // from one index of an element to the next
} op_indexed;

// Checks that the shapes fit; the views have been checked.
kiln_status op_indexed_make(kiln *k, const char *call, kiln_index_form form, uint32_t axis,
                            const op_operand *x, const op_operand *index,
                            const op_operand *elements, op_indexed *out);

#endif
