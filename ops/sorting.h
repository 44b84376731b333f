// Sorts, for the ops that have or need one: ops/sort, and ops/scattered.h, which has keys of its
// own.
#ifndef KILN_OP_SORTING_H
#define KILN_OP_SORTING_H

#include "kiln/ops.h"

#include "ops/lines.h"

typedef struct op_sorting {
    kiln_sort_desc d; // the call
    uint32_t digits;  // of eight bits, of the keys; 0: all
    struct {          // `struct row` of the kernels; `results` is given
        uint64_t count, results;
        int64_t x_step, out_step, index_step, value_step, to_value_step;
    } row;
    // op_sorting_make fills in what follows.
    bool has_places; // where each element was
    kiln_type type, key;
    op_lines lines;
    kiln_view words; // the workspace
    uint64_t used;   // bytes of it
} op_sorting;

// The views have been checked.
void op_sorting_make(op_sorting *j);
// Bytes of the workspace.
uint64_t op_sorting_bytes(op_sorting *j);
kiln_status op_sorting_run(kiln *k, const char *call, op_sorting *j);
// The gradient: x of the call is dx, out is dout.
kiln_status op_sorting_run_backward(kiln *k, const op_sorting *j);

// kiln_sort_forward of a row of unsigned keys, all below 256 to the power of `digits`, with their
// places.
kiln_status op_sort_keys(kiln *k, const kiln_sort_desc *d, uint32_t digits);
// The bytes of its workspace for `count` keys of that type.
uint64_t op_sort_room(kiln_type type, uint64_t count, uint32_t digits);

#endif
