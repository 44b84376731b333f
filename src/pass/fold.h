// Shared by the files of the fold pass: the state of its walk, the rules, and the control rewrites.
#ifndef KILN_FOLD_H
#define KILN_FOLD_H

#include "pass/passes.h"

typedef struct folder {
    ir_func *f;
    arena *scratch;
    vec(ir_ref) with;         // per value: what it is now (0: itself); grows with the function
    uint32_t *first_transfer; // per instruction: first EXIT or NEXT that aims at it
    uint32_t *next_transfer;  // per EXIT/NEXT: the next one with the same target
    uint32_t *stamp;          // per value: when the walk met it
    uint32_t inst_count, value_count; // sizes of those arrays: what existed before the pass
    uint32_t clock;
    bool did_change;
} folder;

// What `r` has become.
ir_ref fold_resolve(const folder *fo, ir_ref r);
void fold_rename(folder *fo, ir_ref old, ir_ref with);

// False: no rule is about such an instruction. With two operands, they are all about a constant,
// about x op x, or about halves that `or` puts together.
static inline bool fold_has_rules(const ir_func *f, const ir_inst *i)
{
    if (ir_op_effect((ir_op)i->op) != IR_FX_PURE)
        return true;
    if (i->operand_count != 2)
        return i->operand_count != 0;
    ir_ref a = ir_operand(f, i, 0), b = ir_operand(f, i, 1);
    return ir_is_const(a | b) || a == b || (i->op == IR_OR && i->type == IR_I32);
}

// Simplifies one plain instruction whose operands are resolved. Returns a value that can replace
// its (only) result, or 0; may rewrite the instruction in place or add some before it.
ir_ref fold_rules(folder *fo, ir_inst_id id);

// Rewrites a control instruction before its regions are walked. True when it is gone or has become
// another one: *next is where the walk goes on.
bool fold_control(folder *fo, ir_inst_id id, ir_inst_id *next);
// After its regions were walked: results that are the same on every way out.
void fold_results(folder *fo, ir_inst_id id);

#endif
