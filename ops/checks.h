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
// Floats; f32 alone; indices; numbers and bool. No op but copies and products has floats of eight
// bits.
extern const op_types op_types_floats, op_types_f32, op_types_indices, op_types_all;
// Floats, because a gradient is asked for; indices that say where elements are.
extern const op_types op_types_derivable, op_types_places;

bool op_type_is_float(kiln_type type); // of op_types_floats
// 0 for bf16, 1 for f16, 2 for f32, 3 for f64: the axis T of kernels of floats.
uint32_t op_type_float_axis(kiln_type type);
// What elements of that type are summed in: f64 for f64, f32 for other floats, else 64 bits.
kiln_type op_type_of_sums(kiln_type type);

// op_check_operands, and that each operand that is there has one of its types, then that it has the
// type and the sizes of the first where it is to have them.
kiln_status op_check_listed(kiln *k, const char *call, const op_operand *operands, size_t count,
                            bool *is_in_place);
kiln_status op_check_types(kiln *k, const char *call, const op_operand *o, const op_types *types);
// op_check_listed for a call over rows along `axis` of the first operand, and the sizes of columns
// and of operands that are OP_WITHOUT_AXIS or OP_ONE_ELEMENT.
kiln_status op_check_rows(kiln *k, const char *call, const op_operand *operands, size_t count,
                          uint32_t axis, bool *is_in_place);
// A column is one dimension of that size.
kiln_status op_check_column(kiln *k, const char *call, const op_operand *o, uint64_t size);
// The operand has a dimension `axis`.
kiln_status op_check_axis(kiln *k, const char *call, const op_operand *o, uint32_t axis);

#endif
