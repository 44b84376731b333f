// Checks that ops list with their operands, and what the kernels call types.
#ifndef KILN_OP_CHECKS_H
#define KILN_OP_CHECKS_H

#include "ops/operands.h"

// Sets of an op_types.
enum {
    OP_FLOATS = 1 << KILN_F16 | 1 << KILN_BF16 | 1 << KILN_F32 | 1 << KILN_F64,
    OP_INDICES = 1 << KILN_I32 | 1 << KILN_I64,
    OP_INTEGERS = 1 << KILN_I8 | 1 << KILN_U8 | 1 << KILN_I16 | 1 << KILN_U16 | OP_INDICES |
                  1 << KILN_U32 | 1 << KILN_U64,
    OP_NUMBERS = OP_FLOATS | OP_INTEGERS,
    OP_BOOLS = 1 << KILN_BOOL,
};
// Floats; indices; numbers and bool. No op but copies and products has floats of eight bits.
extern const op_types op_types_floats, op_types_indices, op_types_all;

bool op_type_is_float(kiln_type type); // of op_types_floats
// 0 for bf16, 1 for f16, 2 for f32, 3 for f64: the axis T of kernels of floats.
uint32_t op_type_float_axis(kiln_type type);

// op_check_operands, and that each operand that is there has one of its types, then that it has the
// type and the sizes of the first where it is to have them.
kiln_status op_check_listed(kiln *k, const char *call, const op_operand *operands, size_t count,
                            bool *is_in_place);
kiln_status op_check_types(kiln *k, const char *call, const op_operand *o, const op_types *types);
// The operand has a dimension `axis`.
kiln_status op_check_axis(kiln *k, const char *call, const op_operand *o, uint32_t axis);

// a / b, rounded up.
static inline uint64_t op_over(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static inline uint64_t op_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
