// The operations of ops.def as an enum, and each family of them as another.
//
// A switch over all operations, or over all of a family (`switch ((ir_int_op)op)`), has no default:
// the compiler names the row that it lacks. A switch that means few of them says with a default
// what the others do.
#ifndef KILN_IR_OPS_H
#define KILN_IR_OPS_H

// clang-format off
typedef enum ir_op {
    IR_NOP, // a removed instruction's tombstone
#define OP(e, name, operands, results, rule, cls, effects) IR_##e,
#include "ir/ops.def"
    IR_OP_COUNT
} ir_op;

typedef enum ir_family {
    IR_FAM_NONE, // IR_NOP
    IR_FAM_INT, IR_FAM_FLOAT, IR_FAM_FAST, IR_FAM_COMPARE, IR_FAM_SELECT,
    IR_FAM_CONVERT, IR_FAM_PACKED, IR_FAM_MEMORY, IR_FAM_GEOMETRY,
    IR_FAM_GROUP, IR_FAM_NVIDIA, IR_FAM_WORLD, IR_FAM_CALL, IR_FAM_CONTROL, IR_FAM_END,
    IR_FAM_COUNT
} ir_family;

// The families as enums of their own, with the values of ir_op.
typedef enum ir_int_op {
#define OP_INT(e, ...) IR_INT_OP_##e = IR_##e,
#include "ir/ops.def"
} ir_int_op;
typedef enum ir_float_op {
#define OP_FLOAT(e, ...) IR_FLOAT_OP_##e = IR_##e,
#include "ir/ops.def"
} ir_float_op;
typedef enum ir_fast_op {
#define OP_FAST(e, ...) IR_FAST_OP_##e = IR_##e,
#include "ir/ops.def"
} ir_fast_op;
typedef enum ir_compare_op {
#define OP_COMPARE(e, ...) IR_COMPARE_OP_##e = IR_##e,
#include "ir/ops.def"
} ir_compare_op;
typedef enum ir_convert_op {
#define OP_CONVERT(e, ...) IR_CONVERT_OP_##e = IR_##e,
#include "ir/ops.def"
} ir_convert_op;
typedef enum ir_packed_op {
#define OP_PACKED(e, ...) IR_PACKED_OP_##e = IR_##e,
#include "ir/ops.def"
} ir_packed_op;
typedef enum ir_memory_op {
#define OP_MEMORY(e, ...) IR_MEMORY_OP_##e = IR_##e,
#include "ir/ops.def"
} ir_memory_op;
typedef enum ir_geometry_op {
#define OP_GEOMETRY(e, ...) IR_GEOMETRY_OP_##e = IR_##e,
#include "ir/ops.def"
} ir_geometry_op;
typedef enum ir_group_op {
#define OP_GROUP(e, ...) IR_GROUP_OP_##e = IR_##e,
#include "ir/ops.def"
} ir_group_op;
typedef enum ir_nvidia_op {
#define OP_NVIDIA(e, ...) IR_NVIDIA_OP_##e = IR_##e,
#include "ir/ops.def"
} ir_nvidia_op;
typedef enum ir_world_op {
#define OP_WORLD(e, ...) IR_WORLD_OP_##e = IR_##e,
#include "ir/ops.def"
} ir_world_op;
typedef enum ir_control_op {
#define OP_CONTROL(e, ...) IR_CONTROL_OP_##e = IR_##e,
#include "ir/ops.def"
} ir_control_op;
typedef enum ir_end_op {
#define OP_END(e, ...) IR_END_OP_##e = IR_##e,
#include "ir/ops.def"
} ir_end_op;
// clang-format on

#endif
