// Operands of an op: views that are checked together. Every op lists its operands and asks this.
#ifndef KILN_OPERANDS_H
#define KILN_OPERANDS_H

#include "ops/op.h"

typedef struct op_operand {
    const char *name; // for messages
    const kiln_view *view;
    bool is_result;
    bool is_optional; // it is not there when its buffer is NULL
    // Where a result may lie exactly on this operand: each of the operand's elements is read before
    // the result's element with the same index is written.
    bool may_be_replaced;
} op_operand;

// Is `k` a context, and the description of `call` there?
kiln_status op_begin(kiln *k, const char *call, const void *desc);
// Every operand that is there is a view of `k`'s buffers; a result reaches no element twice, and no
// element of another operand but where it may replace it. `is_in_place` (may be NULL): one does.
kiln_status op_check_operands(kiln *k, const char *call, const op_operand *operands, size_t count,
                              bool *is_in_place);
// The operand has that type, and the sizes of another one.
kiln_status op_check_type(kiln *k, const char *call, const op_operand *o, kiln_type type);
kiln_status op_check_sizes(kiln *k, const char *call, const op_operand *o, const op_operand *like);
// A workspace of at least that many bytes: dense, of any type, at a multiple of 8 bytes. `words`
// gets it as a view of u64; where no bytes are needed, some view that is not read.
kiln_status op_check_workspace(kiln *k, const char *call, const kiln_view *v, uint64_t bytes,
                               kiln_view *words);
// Zeros in all elements of a result that is there: the sum of nothing.
kiln_status op_set_zero(kiln *k, kiln_view v, kiln_stream *stream);
// K6003 with "CALL: " in front; printf form.
kiln_status op_refuse(kiln *k, const char *call, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
