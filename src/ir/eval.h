// What every scalar operation computes: the single definition that constant folding and the
// interpreter share. Bits are as in ir_const: zero-extended, i1 is 0 or 1.
#ifndef KILN_IR_EVAL_H
#define KILN_IR_EVAL_H

#include "ir/ir.h"

// Computes one pure operation of type `t` on its operands' bits. False when the operation is not a
// function of its operands (geometry, memory), is an approximation (fast.*), or is a pointer cast.
bool ir_eval(ir_op op, ir_type t, uint32_t aux, const uint64_t *operands, uint64_t *out);

// The narrow float types (IR_F16, IR_BF16, IR_F8E4, IR_F8E5). Narrowing rounds to nearest even;
// f8 saturates at the largest finite value and has one NaN, 0x7f with the sign.
double ir_widen(ir_type t, uint32_t bits); // exact
uint32_t ir_narrow(ir_type t, double v);   // one rounding, also from a double

#endif
