// What is known about every operation and type without looking at an instruction: ops.def as an
// array, names in both directions, sizes.
#include "ir/tables.h"
#include "ir/nv.h"

#define ANY IR_ANY
const ir_op_row ir_op_rows[IR_OP_COUNT] = {
    [IR_NOP] = {"nop", 0, 0, IR_RULE_SPECIAL, IR_CLS_A, IR_FX_PURE},
#define OP(e, text, operands, results, rule, cls, effects)                                         \
    [IR_##e] = {text, operands, results, IR_RULE_##rule, IR_CLS_##cls, IR_FX_##effects},
#include "ir/ops.def"
};

const char *const ir_atomic_names[] = {"add", "smin", "smax", "umin", "umax", "and", "or",
                                       "xor", "xchg", "fadd", "fmin", "fmax", NULL};
const char *const ir_shuffle_names[] = {"idx", "up", "down", "xor", NULL};
const char *const ir_order_names[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst", NULL};
const char *const ir_scope_names[] = {"device", "block", "cluster", "system", NULL};
const char *const ir_hint_names[] = {"none", "readonly", "stream", "volatile", NULL};

const uint8_t ir_op_effects[IR_OP_COUNT] = {
    [IR_NOP] = IR_FX_PURE,
#define OP(e, text, operands, results, rule, cls, effects) [IR_##e] = IR_FX_##effects,
#include "ir/ops.def"
};

const uint8_t ir_op_families[IR_OP_COUNT] = {
// clang-format off
#define OP_INT(e, ...) [IR_##e] = IR_FAM_INT,
#define OP_FLOAT(e, ...) [IR_##e] = IR_FAM_FLOAT,
#define OP_FAST(e, ...) [IR_##e] = IR_FAM_FAST,
#define OP_COMPARE(e, ...) [IR_##e] = IR_FAM_COMPARE,
#define OP_SELECT(e, ...) [IR_##e] = IR_FAM_SELECT,
#define OP_CONVERT(e, ...) [IR_##e] = IR_FAM_CONVERT,
#define OP_PACKED(e, ...) [IR_##e] = IR_FAM_PACKED,
#define OP_MEMORY(e, ...) [IR_##e] = IR_FAM_MEMORY,
#define OP_GEOMETRY(e, ...) [IR_##e] = IR_FAM_GEOMETRY,
#define OP_GROUP(e, ...) [IR_##e] = IR_FAM_GROUP,
#define OP_NVIDIA(e, ...) [IR_##e] = IR_FAM_NVIDIA,
#define OP_WORLD(e, ...) [IR_##e] = IR_FAM_WORLD,
#define OP_CALL(e, ...) [IR_##e] = IR_FAM_CALL,
#define OP_CONTROL(e, ...) [IR_##e] = IR_FAM_CONTROL,
#define OP_END(e, ...) [IR_##e] = IR_FAM_END,
// clang-format on
#include "ir/ops.def"
};

const ir_type_row ir_type_rows[IR_TYPE_COUNT] = {
    [IR_VOID] = {"void", 0},
    [IR_I1] = {"i1", 1},
    [IR_I8] = {"i8", 1},
    [IR_I16] = {"i16", 2},
    [IR_I32] = {"i32", 4},
    [IR_I64] = {"i64", 8},
    [IR_F16] = {"f16", 2},
    [IR_BF16] = {"bf16", 2},
    [IR_F8E4] = {"f8e4", 1},
    [IR_F8E5] = {"f8e5", 1},
    [IR_F32] = {"f32", 4},
    [IR_F64] = {"f64", 8},
    [IR_PTR_GEN] = {"ptr.gen", 8},
    [IR_PTR_GLOBAL] = {"ptr.global", 8},
    [IR_PTR_SHARED] = {"ptr.shared", 8},
    [IR_PTR_LOCAL] = {"ptr.local", 8},
    [IR_PTR_CONST] = {"ptr.const", 8},
    [IR_PTR_PARAM] = {"ptr.param", 8},
};

const char *ir_op_name(ir_op op)
{
    return op < IR_OP_COUNT ? ir_op_rows[op].name : "?";
}

ir_op ir_op_find(str name)
{
    for (int op = 1; op < IR_OP_COUNT; op++) {
        const char *row = ir_op_rows[op].name;
        if (strlen(row) == name.len && !memcmp(row, name.at, name.len))
            return (ir_op)op;
    }
    return IR_NOP;
}

const char *ir_type_name(ir_type t)
{
    return t < IR_TYPE_COUNT ? ir_type_rows[t].name : "?";
}

ir_type ir_type_find(str name)
{
    for (int t = 1; t < IR_TYPE_COUNT; t++)
        if (strlen(ir_type_rows[t].name) == name.len &&
            !memcmp(ir_type_rows[t].name, name.at, name.len))
            return (ir_type)t;
    return IR_VOID;
}

static const uint8_t fixed_types[IR_OP_COUNT] = {
    // 0: not fixed; else type + 1
    [IR_PRMT] = IR_I32 + 1,          [IR_DP4A_S] = IR_I32 + 1,
    [IR_DP4A_U] = IR_I32 + 1,        [IR_HADD2] = IR_I32 + 1,
    [IR_HSUB2] = IR_I32 + 1,         [IR_HMUL2] = IR_I32 + 1,
    [IR_HFMA2] = IR_I32 + 1,         [IR_HMIN2] = IR_I32 + 1,
    [IR_HMAX2] = IR_I32 + 1,         [IR_LOCAL] = IR_PTR_LOCAL + 1,
    [IR_SHARED] = IR_PTR_SHARED + 1, [IR_CONSTANT] = IR_PTR_CONST + 1,
    [IR_FENCE] = IR_VOID + 1,        [IR_PREFETCH] = IR_VOID + 1,
    [IR_THREAD] = IR_I32 + 1,        [IR_BLOCK] = IR_I32 + 1,
    [IR_BLOCKDIM] = IR_I32 + 1,      [IR_GRIDDIM] = IR_I32 + 1,
    [IR_LANE] = IR_I32 + 1,          [IR_WARP] = IR_I32 + 1,
    [IR_DYNSHARED] = IR_I32 + 1,     [IR_BARRIER] = IR_VOID + 1,
    [IR_WARPSYNC] = IR_VOID + 1,     [IR_BALLOT] = IR_I32 + 1,
    [IR_ACTIVE] = IR_I32 + 1,        [IR_PRINT] = IR_VOID + 1,
    [IR_ASSERT] = IR_VOID + 1,       [IR_TRAP] = IR_VOID + 1,
    [IR_BOUNDS] = IR_VOID + 1,       [IR_ASSUME] = IR_VOID + 1,
    [IR_CLOCK] = IR_I64 + 1,         [IR_NANOTIME] = IR_I64 + 1,
    [IR_SLEEP] = IR_VOID + 1,        [IR_CALL] = IR_VOID + 1,
    [IR_BLOCKSCOPE] = IR_VOID + 1,   [IR_IF] = IR_VOID + 1,
    [IR_LOOP] = IR_VOID + 1,         [IR_SWITCH] = IR_VOID + 1,
    [IR_EXIT] = IR_VOID + 1,         [IR_NEXT] = IR_VOID + 1,
    [IR_RETURN] = IR_VOID + 1,       [IR_UNREACHABLE] = IR_VOID + 1,
    [IR_NOP] = IR_VOID + 1,          [IR_NV] = IR_VOID + 1,
    [IR_SHADDR] = IR_I32 + 1,        [IR_MAPA] = IR_PTR_GEN + 1,
    [IR_CLUSTER] = IR_I32 + 1,       [IR_HOST] = IR_VOID + 1,
};

bool ir_op_fixed_type(ir_op op, ir_type *type)
{
    if (!fixed_types[op])
        return false;
    *type = (ir_type)(fixed_types[op] - 1);
    return true;
}

ir_type ir_op_result_type(ir_op op, ir_type t)
{
    if (ir_op_rows[op].rule == IR_RULE_CMP)
        return IR_I1;
    return op == IR_BALLOT || op == IR_MATCH ? IR_I32 : t;
}

int ir_name_find(const char *const *names, str word)
{
    for (int i = 0; names[i]; i++)
        if (str_same(word, str_of(names[i])))
            return i;
    return -1;
}

ir_op ir_op_parse(str word, uint32_t *aux, int64_t *imm)
{
    static const char *const axes[] = {"x", "y", "z", NULL};
    static const char *const groups[] = {"?", "warp", "block", NULL};
    static const char *const lanes[] = {"f16", "bf16", NULL};
    ir_op op = ir_op_find(word);
    if (op != IR_NOP)
        return op;
    if (word.len > 3 && !memcmp(word.at, "nv.", 3)) {
        int row = nv_find((str){word.at + 3, word.len - 3});
        *aux = (uint32_t)row;
        return row < 0 ? IR_NOP : IR_NV;
    }
    size_t dot = word.len;
    while (dot && word.at[dot - 1] != '.')
        dot--;
    if (dot < 2)
        return IR_NOP;
    str suffix = {word.at + dot, word.len - dot};
    op = ir_op_find((str){word.at, dot - 1});
    int choice = -1;
    if (op == IR_ATOMIC)
        choice = ir_name_find(ir_atomic_names, suffix);
    else if (op == IR_SHUFFLE)
        choice = ir_name_find(ir_shuffle_names, suffix);
    else if (op == IR_UNIFORM)
        choice = ir_name_find(groups, suffix);
    else if (op >= IR_THREAD && op <= IR_GRIDDIM)
        choice = ir_name_find(axes, suffix);
    else if (op >= IR_HADD2 && op <= IR_HMAX2)
        choice = ir_name_find(lanes, suffix);
    if (choice < 0)
        return IR_NOP;
    if (op >= IR_THREAD && op <= IR_GRIDDIM)
        *imm = choice;
    else
        *aux = op >= IR_HADD2 && op <= IR_HMAX2 ? (uint32_t)(choice ? IR_BF16 : IR_F16)
                                                : (uint32_t)choice;
    return op;
}

bool ir_op_is_memory(ir_op op)
{
    return op == IR_LOAD || op == IR_STORE || op == IR_ATOMIC || op == IR_CAS ||
           op == IR_ATOMLOAD || op == IR_ATOMSTORE || op == IR_PREFETCH;
}
