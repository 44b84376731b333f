// Operands of an op: views that are checked together. Every op lists its operands and asks this.
#ifndef KILN_OPERANDS_H
#define KILN_OPERANDS_H

#include "ops/op.h"

// Types that an operand may have: a bit 1 << kiln_type each; `otherwise` ends the message about
// another one.
typedef struct op_types {
    uint32_t set;
    const char *otherwise;
} op_types;

// What an operand has of the first one: its type; its sizes; its sizes without the axis of a call
// over rows. Or it is one element, whatever the first one is.
enum { OP_SAME_TYPE = 1, OP_SAME_SIZES = 2, OP_WITHOUT_AXIS = 4, OP_ONE_ELEMENT = 8 };

typedef struct op_operand {
    const char *name; // for messages
    const kiln_view *view;
    bool is_result;
    bool is_optional; // it is not there when its buffer is NULL
    bool is_column;   // one dimension, as long as the rows of the first operand; optional
    // Where a result may lie exactly on this operand: each of the operand's elements is read before
    // the result's element with the same index is written.
    bool may_be_replaced;
    // What op_check_listed looks at: the types that are possible (NULL: any), and OP_SAME_TYPE,
    // OP_SAME_SIZES; op_check_rows at the others, too.
    const op_types *types;
    uint32_t same;
    uint32_t axis; // of the kernel's variants, that says whether it is there (ops/rows.h); 0: none
} op_operand;

static inline bool op_operand_is_there(const op_operand *o)
{
    return !(o->is_optional || o->is_column) || o->view->buffer;
}

// Is `k` a context, and the description of `call` there?
kiln_status op_begin(kiln *k, const char *call, const void *desc);
// The same for a call that says how large a workspace is: is there a place for that?
kiln_status op_begin_bytes(kiln *k, const char *call, const void *desc, const uint64_t *bytes);
// Every operand that is there is a view of `k`'s buffers; a result reaches no element twice, and no
// element of another operand but where it may replace it. `is_in_place` (may be NULL): one does.
kiln_status op_check_operands(kiln *k, const char *call, const op_operand *operands, size_t count,
                              bool *is_in_place);
// The operand has that type, and the sizes of another one.
kiln_status op_check_type(kiln *k, const char *call, const op_operand *o, kiln_type type);
kiln_status op_check_sizes(kiln *k, const char *call, const op_operand *o, const op_operand *like);
// Sets of types, as the tables of ops name them, and that an operand's type is in one.
enum { TYPES_FLOATS = 1, TYPES_SIGNED = 3, TYPES_INTEGERS = 6, TYPES_NUMBERS = 7, TYPES_ALL = 15 };
uint32_t op_type_set(kiln_type type); // the one that has it alone; 0: no op has it
kiln_status op_check_type_in(kiln *k, const char *call, const op_operand *o, uint32_t set);
// A dense operand of at least `count` elements of `type`, `each` for each of the rows; no rows need
// none.
kiln_status op_check_room(kiln *k, const char *call, const op_operand *o, kiln_type type,
                          uint64_t rows, uint32_t each);
// A workspace of at least that many bytes: dense, of any type, at a multiple of 8 bytes. `words`
// gets it as a view of u64; where no bytes are needed, some view that is not read.
kiln_status op_check_workspace(kiln *k, const char *call, const kiln_view *v, uint64_t bytes,
                               kiln_view *words);
// Zeros in all elements of a result that is there: the sum of nothing.
kiln_status op_set_zero(kiln *k, kiln_view v, kiln_stream *stream);
// K6003 with "CALL: " in front; printf form.
kiln_status op_refuse(kiln *k, const char *call, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
