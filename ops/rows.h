// Kernels of rows on the host: how many threads have a row, and how much of it each keeps in
// registers. The kernels include kiln/rows.h. The choice follows from the shape and the strides
// alone, so that all devices add in the same order.
#ifndef KILN_OP_ROWS_H
#define KILN_OP_ROWS_H

#include "ops/nest.h"
#include "ops/operands.h"

typedef struct op_rows {
    op_packs packs;
    op_inner inner;
    uint32_t threads, lanes; // of a block, of a row
    bool is_across;          // lanes have neighbouring rows, warps share them
    uint32_t per;            // packs of a thread; 0: it walks over the row
    bool is_whole;           // a row is lanes * per packs
    bool is_played;          // a warp plays the threads of a row (kiln/played.h)
    bool takes_several;      // no more blocks are launched than run at a time
    uint64_t rows, blocks;
    uint64_t columns;
} op_rows;

// Views of one shape with rows along `axis`, not empty. `aim`: packs that a thread of a long row
// should have, at least; `kept`: rows that it has in registers at the same time; is_by_first: as
// op_nest_rows.
void op_rows_make(const kiln_view *views, uint32_t count, uint32_t axis, uint32_t aim,
                  uint32_t kept, bool is_by_first, op_rows *out);
// Gives the axes of rows_axes.def their values.
void op_rows_set(const op_rows *rows, kiln_type type, bool is_in_place, op_request *r);
kiln_status op_rows_launch(kiln *k, const op_rows *rows, const op_request *r, const kiln_arg *args,
                           size_t count, kiln_stream *stream);
// x is f16, bf16 or f32, and has a dimension `axis`; the other operands have its type.
kiln_status op_rows_check(kiln *k, const char *call, const op_operand *operands, size_t count,
                          uint32_t axis);

// --- a call over rows, from its operands to its launch: op_rows_begin, op_rows_plan, the op's own
// axes and arguments, op_rows_run. The kernel takes the views, the nest of them, then the op's
// arguments.
typedef struct op_rows_call {
    const char *name;
    const op_operand *operands; // x first; see op_rows_check. No columns: the sizes of x
    uint32_t count, axis;
    bool is_in_place, is_empty; // empty: there are no rows, and no launch
    bool is_by_x; // rows have the same numbers in all launches over this x; set before op_rows_plan
    // For devices that run warps one after the other: a warp plays all of a long row, with the same
    // bits and arguments (kiln/played.h). NULL: there is no such kernel.
    const op_program *played;
    op_rows rows;
    op_request request;
    kiln_arg args[NEST_VIEWS];
    uint32_t arg_count;
} op_rows_call;

// Checks the operands.
kiln_status op_rows_begin(kiln *k, op_rows_call *c);
// For kernels of rows that follow one another in memory: are there fewer than 2^31 elements, is
// every operand dense, and does each but the columns start at a multiple of 16 bytes?
bool op_rows_is_dense(const op_rows_call *c);
// The first `count` operands are arguments of the kernel; x stands in for one that is missing. Sets
// the axes that operands name. `views` (may be NULL) gets the operands, columns as those of x.
void op_rows_add_operands(op_rows_call *c, uint32_t count, kiln_view *views);
// Adds the first `views` operands, and how their rows are cut. `aim` and `kept` as above.
void op_rows_plan(op_rows_call *c, const op_program *program, uint32_t views, uint32_t aim,
                  uint32_t kept);
// Lets threads have columns, which are added along the rows: `width` lanes side by side.
uint32_t op_rows_plan_columns(op_rows_call *c);
void op_rows_add(op_rows_call *c, kiln_arg arg);
void op_rows_add_f32(op_rows_call *c, uint32_t count, const double *values);
kiln_status op_rows_run(kiln *k, op_rows_call *c, kiln_stream *stream);

#endif
