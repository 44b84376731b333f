// What NVIDIA's assembler may find out about values and then folds wrongly (docs/assembler.md): the
// question is the same for PTX that Kiln writes and for OpenCL C that ends in the same assembler.
#ifndef KILN_BACK_FOLDS_H
#define KILN_BACK_FOLDS_H

#include "ir/ir.h"

// What a value is an operand of. FOLDS_NEAR: of a comparison, or it becomes such an operand, or
// comes from one, by a mask, a conversion or another operation with a constant. FOLDS_HALVED: of a
// conversion to 16 bits. FOLDS_PAIRED: of an operation on a pair of halves, or it is or may become
// such an operand, or one whose upper half is taken.
enum { FOLDS_COMPARED = 1, FOLDS_ADDED = 2, FOLDS_NEAR = 4, FOLDS_HALVED = 8, FOLDS_PAIRED = 16 };
uint8_t *folds_find(const ir_func *f, arena *a); // per value

// May a branch know it? The assembler finds (x & 1) and x to be the same where x is 0 or 1.
bool folds_near(const uint8_t *known, ir_ref r);
// A negation, or what the assembler may find to be one: 0 - x, x * -1, a - x or a * x where `a` is
// compared with something, so that its value is known in a branch; what may turn out to be a copy
// of a negation; and a sum of known numbers, which it writes as negations of others that it has.
bool folds_negation(const ir_func *f, const uint8_t *known, ir_ref r);
// An xor of two values, one of which may turn out to be -1 in a branch that knows the other.
bool folds_xor(const ir_func *f, const uint8_t *known, const ir_inst *i);
// -0.0 of f32 or f64; also a zero that is negated, which is a constant only after optimisation.
bool folds_minus_zero(const ir_func *f, ir_ref r);
// max(x, -0.0), and max(x, 0.0) where x is min(y, 1.0): taken for saturation, which gives +0.0, for
// a NaN, too. 1 or 2: which operand x is; 0: it is none.
uint32_t folds_saturation(const ir_func *f, const ir_inst *i);
// c < x and c <= x with a constant c <= 0, and -x < c and -x <= c with a constant c >= 0: where x
// is a magnitude or a square the assembler takes these for true, whether x is a NaN or not.
bool folds_ordered(const ir_func *f, const ir_inst *i, bool is_plain);
// (x << k) + (x >> (64 - k)) with the sign, and a difference of such shifts, with or without it, or
// a sum of negated ones: taken for a rotation, which has no signs.
bool folds_rotation(const ir_func *f, const ir_inst *i);
// x * c of 64 bits with a constant c, where the low half of x is the same for every thread, as in
// (y << 32) + 5: x * c + x loses the high half of the product. 1 or 2: which operand x is; 0: it is
// none.
uint32_t folds_half_known(const ir_func *f, const ir_inst *i);
// The bits of a truth value as a float.
bool folds_truth_bits(const ir_func *f, const ir_inst *i);
// 16 bits extended with zeros to a pair of halves: its upper half is taken for the lower one.
bool folds_half_pair(const uint8_t *known, const ir_inst *i);
// A byte with its sign as 16 bits, at once or by way of more: the bits above the 16 are taken for
// zero, and are the sign.
bool folds_extended_byte(const uint8_t *known, const ir_inst *i);

#endif
