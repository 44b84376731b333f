// The operation table as verify.c, print.c and read.c see it: one row of ops.def with its type
// rule. Passes and backends use the functions of ir.h.
#ifndef KILN_IR_TABLES_H
#define KILN_IR_TABLES_H

#include "ir/ir.h"

enum { IR_ANY = 0xff };

typedef enum ir_rule {
    IR_RULE_BIN,
    IR_RULE_UN,
    IR_RULE_CMP,
    IR_RULE_SEL,
    IR_RULE_CVT,
    IR_RULE_SPECIAL
} ir_rule;
typedef enum ir_class { IR_CLS_I, IR_CLS_B, IR_CLS_F, IR_CLS_A } ir_class;

typedef struct ir_op_row {
    const char *name;
    uint8_t operands, results; // a count or IR_ANY
    uint8_t rule, cls, effect; // ir_rule, ir_class, ir_effect
} ir_op_row;

extern const ir_op_row ir_op_rows[IR_OP_COUNT];

// True when the operation's type field is always the same (*type): the text form leaves it out.
bool ir_op_fixed_type(ir_op op, ir_type *type);
// The type of the results of an operation with type field `t` (all but calls and control).
ir_type ir_op_result_type(ir_op op, ir_type t);
// The operation as the text form writes it, with what its suffix says: "atomic.add", "thread.x",
// "hadd2.bf16". IR_NOP when unknown.
ir_op ir_op_parse(str word, uint32_t *aux, int64_t *imm);
// Index of `word` in a NULL-terminated list, -1 when it is not there.
int ir_name_find(const char *const *names, str word);
// True for the operations whose `imm` is a byte offset and which carry an alignment.
bool ir_op_is_memory(ir_op op);

// Names of the enums in ir.h, in order; NULL-terminated.
extern const char *const ir_atomic_names[], *const ir_shuffle_names[],
                                                *const ir_order_names[], *const ir_scope_names[],
                                                                             *const ir_hint_names[];

#endif
