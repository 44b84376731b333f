// Expressions to values: operators, conversions, conditions, assignments, calls.
//
// The tree is checked: operands already have the type the operation happens in, and every implicit
// conversion is a node. Invariant: operands are evaluated left to right, each once; a compound
// assignment locates its left side, evaluates the right one, and only then reads the left.
// Narrow integers are values only between a load and its conversion. Start at lower_value.
#include "front/lower.h"

// --- constants

ir_ref lower_number(lower *l, const type *t, uint64_t integer, double real)
{
    if (t->kind == TY_F32)
        return ir_f32(l->func, (float)real);
    if (t->kind == TY_F64)
        return ir_f64(l->func, real);
    if (t->kind == TY_BOOL)
        return ir_bool(l->func, integer != 0);
    return ir_constant(l->func, type_ir(t), integer);
}

bool lower_is_constant(lower *l, const ast_expr *e, bool *truth)
{
    const_value v;
    if (!const_eval(l->f, e, &v))
        return false;
    *truth = v.is_float ? v.real != 0 : v.integer != 0;
    return true;
}

// --- conversions

static ir_ref convert_int(lower *l, ir_ref v, const type *from, const type *to)
{
    ir_type a = type_ir(from), b = type_ir(to);
    if (a == b)
        return v;
    if (a == IR_I1 || ir_type_size(b) > ir_type_size(a)) {
        bool is_signed = a != IR_I1 && type_is_signed(from);
        return ir_convert(&l->at, is_signed ? IR_SEXT : IR_ZEXT, b, v);
    }
    return ir_convert(&l->at, IR_TRUNC, b, v);
}

// Integers as i32 or i64: what arithmetic works on.
static ir_ref widened(lower *l, ir_ref v, const type *from, const type **as)
{
    *as = from;
    if (ir_type_size(type_ir(from)) >= 4)
        return v;
    *as = type_scalar(TY_I32);
    return convert_int(l, v, from, *as);
}

static ir_ref is_not_zero(lower *l, ir_ref v, const type *t)
{
    ir_type as = ir_type_of(l->func, v);
    if (as == IR_I1)
        return v;
    if (ir_is_float(as))
        return ir_bin(&l->at, IR_FNE, as, v, lower_number(l, t, 0, 0.0));
    if (!ir_is_ptr(as)) {
        v = widened(l, v, t, &t);
        as = type_ir(t);
    }
    return ir_bin(&l->at, IR_INE, as, v, ir_constant(l->func, as, 0));
}

ir_ref lower_convert(lower *l, ir_ref v, const type *from, const type *to)
{
    if (from->kind == to->kind || to->kind == TY_VOID)
        return v;
    if (to->kind == TY_BOOL)
        return is_not_zero(l, v, from);
    if (type_is_integer(from) && type_is_integer(to))
        return convert_int(l, v, from, to);
    if (type_is_integer(from) && type_is_float(to)) {
        bool is_signed = type_is_signed(from);
        v = widened(l, v, from, &from);
        return ir_convert(&l->at, is_signed ? IR_SITOF : IR_UITOF, type_ir(to), v);
    }
    if (type_is_float(from) && type_is_integer(to))
        return ir_convert(&l->at, type_is_signed(to) ? IR_FTOSI : IR_FTOUI, type_ir(to), v);
    if (type_is_float(from) && type_is_float(to))
        return ir_convert(&l->at, to->kind == TY_F64 ? IR_FEXT : IR_FNARROW, type_ir(to), v);
    if (from->kind == TY_PTR && type_is_integer(to)) {
        v = ir_convert(&l->at, IR_PTRTOINT, IR_I64, lower_generic(l, v));
        return convert_int(l, v, type_scalar(TY_I64), to);
    }
    if (type_is_integer(from) && to->kind == TY_PTR) {
        uint64_t bits;
        if (ir_const_bits(l->func, v, &bits) && !bits)
            return ir_constant(l->func, type_ir(to), 0);
        v = convert_int(l, v, from, type_scalar(TY_I64));
        return ir_convert(&l->at, IR_INTTOPTR, IR_PTR_GEN, v);
    }
    bug("no conversion from type kind %d to %d", from->kind, to->kind);
}

// --- arithmetic

typedef struct arith_row {
    uint8_t op, assign_op;
    uint16_t of_signed, of_unsigned, of_float;
} arith_row;

// clang-format off
static const arith_row arith_rows[] = {
    {TOK_PLUS,    TOK_PLUS_EQ,    IR_ADD,  IR_ADD,  IR_FADD},
    {TOK_MINUS,   TOK_MINUS_EQ,   IR_SUB,  IR_SUB,  IR_FSUB},
    {TOK_STAR,    TOK_STAR_EQ,    IR_MUL,  IR_MUL,  IR_FMUL},
    {TOK_SLASH,   TOK_SLASH_EQ,   IR_SDIV, IR_UDIV, IR_FDIV},
    {TOK_PERCENT, TOK_PERCENT_EQ, IR_SREM, IR_UREM, 0},
    {TOK_AMP,     TOK_AMP_EQ,     IR_AND,  IR_AND,  0},
    {TOK_PIPE,    TOK_PIPE_EQ,    IR_OR,   IR_OR,   0},
    {TOK_CARET,   TOK_CARET_EQ,   IR_XOR,  IR_XOR,  0},
    {TOK_SHL,     TOK_SHL_EQ,     IR_SHL,  IR_SHL,  0},
    {TOK_SHR,     TOK_SHR_EQ,     IR_ASHR, IR_LSHR, 0},
};

typedef struct compare_row {
    uint8_t op;
    uint16_t of_signed, of_unsigned, of_float;
    bool is_swapped;
} compare_row;

static const compare_row compare_rows[] = {
    {TOK_EQ, IR_IEQ, IR_IEQ, IR_FEQ, false}, {TOK_NE, IR_INE, IR_INE, IR_FNE, false},
    {TOK_LT, IR_SLT, IR_ULT, IR_FLT, false}, {TOK_GT, IR_SLT, IR_ULT, IR_FLT, true},
    {TOK_LE, IR_SLE, IR_ULE, IR_FLE, false}, {TOK_GE, IR_SLE, IR_ULE, IR_FLE, true},
};
// clang-format on

static const arith_row *arith_row_of(unsigned op)
{
    for (size_t i = 0; i < COUNT(arith_rows); i++) {
        if (arith_rows[i].op == op || arith_rows[i].assign_op == op)
            return &arith_rows[i];
    }
    return NULL;
}

static const compare_row *compare_row_of(unsigned op)
{
    for (size_t i = 0; i < COUNT(compare_rows); i++) {
        if (compare_rows[i].op == op)
            return &compare_rows[i];
    }
    return NULL;
}

// Does kiln check tell of a count out of range? Kiln's own texts know what they do.
static bool is_watched(lower *l, unsigned rule, ir_ref count)
{
    if (!l->f->options->watches_shifts || rule != SHIFT_WATCHED || ir_is_const(count))
        return false;
    const source_file *file = source_file_at(l->f->sources, l->at.at.lo);
    return file && !file->is_builtin;
}

// The IR takes counts modulo the width.
static ir_ref shift(lower *l, ir_op op, const type *t, ir_ref x, ir_ref count, unsigned rule)
{
    uint64_t known;
    uint32_t bits = (uint32_t)t->size * 8;
    bool is_known = ir_const_bits(l->func, count, &known);
    if (is_known && (uint32_t)known < bits)
        return ir_bin(&l->at, op, type_ir(t), x, count);
    ir_ref width = ir_i32(l->func, (int32_t)bits);
    if (rule == SHIFT_CLAMP && op == IR_ASHR) {
        count = ir_bin(&l->at, IR_UMIN, IR_I32, count, ir_i32(l->func, (int32_t)bits - 1));
        return ir_bin(&l->at, op, type_ir(t), x, count);
    }
    if (rule != SHIFT_CLAMP && !is_watched(l, rule, count))
        return ir_bin(&l->at, op, type_ir(t), x, count);
    ir_ref in_range = ir_bin(&l->at, IR_ULT, IR_I32, count, width);
    if (rule != SHIFT_CLAMP) {
        ir_inst_id id = ir_add(&l->at, IR_ASSUME, IR_VOID, &in_range, 1, NULL, 0);
        ir_at(l->func, id)->imm = bits;
    }
    ir_ref shifted = ir_bin(&l->at, op, type_ir(t), x, count);
    if (rule != SHIFT_CLAMP)
        return shifted;
    return ir_select(&l->at, in_range, shifted, lower_number(l, t, 0, 0.0));
}

// x op y in type t; a shift's y has a type of its own.
static ir_ref arith(lower *l, const arith_row *row, const type *t, ir_ref x, ir_ref y,
                    const type *y_type, unsigned rule)
{
    if (type_is_float(t))
        return ir_bin(&l->at, (ir_op)row->of_float, type_ir(t), x, y);
    ir_op op = (ir_op)(type_is_signed(t) ? row->of_signed : row->of_unsigned);
    if (row->op == TOK_SHL || row->op == TOK_SHR)
        return shift(l, op, t, x, convert_int(l, y, y_type, type_scalar(TY_I32)), rule);
    return ir_bin(&l->at, op, type_ir(t), x, y);
}

// Two pointers in a space they share.
static void unify_pointers(lower *l, ir_ref *x, ir_ref *y)
{
    if (ir_type_of(l->func, *x) != ir_type_of(l->func, *y)) {
        *x = lower_generic(l, *x);
        *y = lower_generic(l, *y);
    }
}

static ir_ref compare(lower *l, const compare_row *row, const ast_expr *e)
{
    const type *t = e->a->type;
    ir_ref x = lower_value(l, e->a);
    ir_ref y = lower_value(l, e->b);
    l->at.at = e->at;
    if (t->kind == TY_PTR || e->b->type->kind == TY_PTR) {
        x = lower_convert(l, x, t, e->b->type->kind == TY_PTR ? e->b->type : t);
        y = lower_convert(l, y, e->b->type, t->kind == TY_PTR ? t : e->b->type);
        unify_pointers(l, &x, &y);
    } else if (type_is_integer(t)) {
        const type *as;
        y = widened(l, y, e->b->type, &as);
        x = widened(l, x, t, &t);
    }
    ir_type as = ir_type_of(l->func, x);
    ir_op op = (ir_op)(ir_is_float(as)     ? row->of_float
                       : type_is_signed(t) ? row->of_signed
                                           : row->of_unsigned);
    return row->is_swapped ? ir_bin(&l->at, op, as, y, x) : ir_bin(&l->at, op, as, x, y);
}

// --- truth

// a && b, a || b: the right side only runs when it decides
static ir_ref short_circuit(lower *l, const ast_expr *e)
{
    bool is_and = e->op == TOK_ANDAND, known;
    if (lower_is_constant(l, e->a, &known))
        return known == is_and ? lower_truth(l, e->b) : ir_bool(l->func, known);
    ir_ref a = lower_truth(l, e->a);
    l->at.at = e->at;
    uint8_t result = IR_I1;
    ir_inst_id branch = ir_control(&l->at, IR_IF, &a, 1, 2, &result, 1);
    ir_region_id outer = l->at.region, first = ir_at(l->func, branch)->regions;
    l->at.region = is_and ? first : first + 1;
    ir_ref b = lower_truth(l, e->b);
    l->at.at = e->at;
    ir_exit(&l->at, branch, &b, 1);
    l->at.region = is_and ? first + 1 : first;
    ir_ref decided = ir_bool(l->func, !is_and);
    ir_exit(&l->at, branch, &decided, 1);
    l->at.region = outer;
    return ir_at(l->func, branch)->result;
}

ir_ref lower_truth(lower *l, const ast_expr *e)
{
    const compare_row *row;
    l->at.at = e->at;
    if (e->kind == E_BINARY && (row = compare_row_of(e->op)))
        return compare(l, row, e);
    if (e->kind == E_BINARY && (e->op == TOK_ANDAND || e->op == TOK_OROR))
        return short_circuit(l, e);
    if (e->kind == E_UNARY && e->op == TOK_NOT) {
        ir_ref v = lower_truth(l, e->a);
        l->at.at = e->at;
        return ir_bin(&l->at, IR_XOR, IR_I1, v, ir_bool(l->func, true));
    }
    if ((e->kind == E_CONVERT || e->kind == E_CAST) && e->type->kind == TY_BOOL)
        return lower_truth(l, e->a);
    // Widening keeps "not zero".
    if ((e->kind == E_CONVERT || e->kind == E_CAST) && type_is_integer(e->type) &&
        type_is_integer(e->a->type) && lower_size(e->type) >= lower_size(e->a->type))
        return lower_truth(l, e->a);
    ir_ref v = lower_value(l, e);
    l->at.at = e->at;
    return is_not_zero(l, v, e->type);
}

static ir_ref truth_value(lower *l, const ast_expr *e)
{
    ir_ref v = lower_truth(l, e);
    l->at.at = e->at;
    return convert_int(l, v, type_scalar(TY_BOOL), e->type);
}

// --- operators

static ir_ref pointer_difference(lower *l, const ast_expr *e)
{
    uint64_t size = lower_size(e->a->type->base);
    ir_ref x = lower_value(l, e->a), y = lower_value(l, e->b);
    l->at.at = e->at;
    unify_pointers(l, &x, &y);
    x = ir_convert(&l->at, IR_PTRTOINT, IR_I64, x);
    y = ir_convert(&l->at, IR_PTRTOINT, IR_I64, y);
    ir_ref bytes = ir_bin(&l->at, IR_SUB, IR_I64, x, y);
    if (size <= 1)
        return bytes;
    if ((size & (size - 1)) == 0) {
        int32_t shift = __builtin_ctzll(size);
        return ir_bin(&l->at, IR_ASHR, IR_I64, bytes, ir_i32(l->func, shift));
    }
    return ir_bin(&l->at, IR_SDIV, IR_I64, bytes, ir_i64(l->func, (int64_t)size));
}

static ir_ref binary(lower *l, const ast_expr *e)
{
    if (e->op == TOK_ANDAND || e->op == TOK_OROR || compare_row_of(e->op))
        return truth_value(l, e);
    if (e->type->kind == TY_PTR)
        return lower_address(l, lower_pointee(l, e));
    if (e->a->type->kind == TY_PTR)
        return pointer_difference(l, e);
    const arith_row *row = arith_row_of(e->op);
    if (!row)
        bug("binary operator %d has no row", e->op);
    ir_ref x = lower_value(l, e->a);
    ir_ref y = lower_value(l, e->b);
    l->at.at = e->at;
    return arith(l, row, e->type, x, y, e->b->type, e->shifts);
}

static ir_ref unary(lower *l, const ast_expr *e)
{
    if (e->op == TOK_NOT)
        return truth_value(l, e);
    if (e->op == TOK_AMP)
        return lower_address(l, lower_pointee(l, e));
    if (e->op == TOK_STAR)
        return lower_load(l, lower_place(l, e));
    ir_type t = type_ir(e->type);
    ir_ref v = lower_value(l, e->a);
    l->at.at = e->at;
    if (e->op == TOK_PLUS)
        return v;
    if (e->op == TOK_TILDE)
        return ir_bin(&l->at, IR_XOR, t, v, ir_constant(l->func, t, UINT64_MAX));
    if (ir_is_float(t))
        return ir_un(&l->at, IR_FNEG, t, v);
    return ir_bin(&l->at, IR_SUB, t, ir_constant(l->func, t, 0), v);
}

// `by` elements of type `to`, in bytes
static ir_ref pointer_step(lower *l, const ast_expr *by, const type *to, bool is_minus)
{
    int64_t constant;
    uint64_t size = lower_size(to) ? lower_size(to) : 1;
    ir_ref bytes = lower_scaled(l, by, size, &constant);
    if (!bytes)
        return ir_i64(l->func, is_minus ? (int64_t)(0 - (uint64_t)constant) : constant);
    return is_minus ? ir_bin(&l->at, IR_SUB, IR_I64, ir_i64(l->func, 0), bytes) : bytes;
}

static ir_ref incdec(lower *l, const ast_expr *e)
{
    const type *t = e->a->type;
    bool is_minus = e->op == TOK_DEC;
    place p = lower_place(l, e->a);
    l->at.at = e->at;
    ir_ref old = lower_load(l, p), new_value;
    if (t->kind == TY_PTR) {
        int64_t size = (int64_t)(lower_size(t->base) ? lower_size(t->base) : 1);
        new_value = ir_ptradd(&l->at, old, ir_i64(l->func, is_minus ? -size : size));
    } else {
        const type *as = type_is_integer(t) && lower_size(t) < 4 ? type_scalar(TY_I32) : t;
        const arith_row *row = arith_row_of(is_minus ? TOK_MINUS : TOK_PLUS);
        ir_ref x = lower_convert(l, old, t, as);
        x = arith(l, row, as, x, lower_number(l, as, 1, 1.0), as, SHIFT_WRAP);
        new_value = lower_convert(l, x, as, t);
    }
    lower_store(l, p, new_value);
    if (p.bits)
        new_value = lower_wrap_bits(l, p, new_value);
    return e->is_postfix ? old : new_value;
}

static ir_ref assign(lower *l, const ast_expr *e)
{
    const type *t = e->a->type;
    place p = lower_place(l, e->a);
    ir_ref v;
    if (e->op == TOK_ASSIGN) {
        v = lower_operand(l, e->b);
        l->at.at = e->at;
        v = lower_convert(l, v, e->b->type, t);
    } else if (t->kind == TY_PTR) {
        ir_ref bytes = pointer_step(l, e->b, t->base, e->op == TOK_MINUS_EQ);
        l->at.at = e->at;
        v = ir_ptradd(&l->at, lower_load(l, p), bytes);
    } else {
        const arith_row *row = arith_row_of(e->op);
        const type *as = e->compute_type ? e->compute_type : e->b->type;
        bool is_shift = row->op == TOK_SHL || row->op == TOK_SHR;
        ir_ref y = lower_value(l, e->b);
        l->at.at = e->at;
        if (!is_shift)
            y = lower_convert(l, y, e->b->type, as);
        ir_ref x = lower_convert(l, lower_load(l, p), t, as);
        v = lower_convert(l, arith(l, row, as, x, y, e->b->type, e->shifts), as, t);
    }
    l->at.at = e->at;
    lower_store(l, p, v);
    return p.bits ? lower_wrap_bits(l, p, v) : v;
}

// c ? a : b for scalars and void
static ir_ref conditional(lower *l, const ast_expr *e)
{
    bool known, is_void = e->type->kind == TY_VOID;
    if (lower_is_constant(l, e->a, &known)) {
        const ast_expr *taken = known ? e->b : e->c;
        if (!is_void)
            return lower_value(l, taken);
        lower_effect(l, taken);
        return IR_NONE;
    }
    ir_ref c = lower_truth(l, e->a);
    l->at.at = e->at;
    uint8_t result = (uint8_t)type_ir(e->type);
    ir_inst_id branch = ir_control(&l->at, IR_IF, &c, 1, 2, &result, is_void ? 0 : 1);
    ir_region_id outer = l->at.region;
    for (uint32_t i = 0; i < 2; i++) {
        const ast_expr *side = i ? e->c : e->b;
        ir_ref v = IR_NONE;
        l->at.region = ir_at(l->func, branch)->regions + i;
        if (is_void)
            lower_effect(l, side);
        else
            v = lower_convert(l, lower_operand(l, side), side->type, e->type);
        l->at.at = side->at;
        ir_exit(&l->at, branch, &v, is_void ? 0 : 1);
    }
    l->at.region = outer;
    return is_void ? IR_NONE : ir_at(l->func, branch)->result;
}

// --- calls

static ir_ref any_call(lower *l, const ast_expr *e, place *record)
{
    ir_ref pointer;
    if (e->builtin && lower_known_bytes(l, e, &pointer))
        return pointer;
    if (e->callee_decl && e->callee_decl->is_host)
        return lower_host_call(l, e, record);
    return e->builtin && !e->callee_decl ? lower_builtin(l, e, record) : lower_call(l, e, record);
}

// A record that is no lvalue: its bytes, in a temporary where they have no home.
place lower_record(lower *l, const ast_expr *e)
{
    place p;
    bool known;
    if (e->kind == E_CALL) {
        any_call(l, e, &p);
    } else if (e->kind == E_COMMA) {
        lower_effect(l, e->a);
        p = lower_place(l, e->b);
    } else if (e->kind == E_COMPOUND) {
        p = lower_temp(l, e->type, e->at);
        lower_init(l, p, e->a);
    } else if (e->kind == E_ASSIGN) {
        p = lower_place(l, e->a);
        lower_init(l, p, e->b);
    } else if (lower_is_constant(l, e->a, &known)) {
        p = lower_place(l, known ? e->b : e->c);
    } else {
        p = lower_temp(l, e->type, e->at);
        ir_ref c = lower_truth(l, e->a);
        l->at.at = e->at;
        ir_inst_id branch = ir_control(&l->at, IR_IF, &c, 1, 2, NULL, 0);
        ir_region_id outer = l->at.region;
        for (uint32_t i = 0; i < 2; i++) {
            l->at.region = ir_at(l->func, branch)->regions + i;
            lower_init(l, p, i ? e->c : e->b);
            ir_exit(&l->at, branch, NULL, 0);
        }
        l->at.region = outer;
    }
    l->at.at = e->at;
    return p;
}

// --- entry

static ir_ref name_value(lower *l, const ast_expr *e)
{
    ast_decl *d = e->decl;
    ir_ref v;
    if (d && (d->kind == DECL_ENUM_CONST || d->kind == DECL_TUNE))
        return lower_number(l, e->type, (uint64_t)d->value, (double)d->value);
    if (lower_const_scalar(l, e, &v))
        return v;
    const var_slot *slot = d ? d->lower_data : NULL;
    if (slot && slot->value)
        return slot->value;
    place p = lower_place(l, e);
    return d->type->kind == TY_ARRAY ? p.base : lower_load(l, p);
}

static ir_ref convert(lower *l, const ast_expr *e)
{
    if (e->kind == E_CONVERT && e->convert == CONVERT_DECAY && e->a->type->kind == TY_FUNC)
        return ir_constant(l->func, IR_I64, function_token(e->a->decl));
    if (e->kind == E_CONVERT && e->convert == CONVERT_DECAY)
        return lower_address(l, lower_pointee(l, e));
    if (e->kind == E_CONVERT && (e->convert == CONVERT_LOAD || e->convert == CONVERT_NOOP))
        return lower_value(l, e->a);
    if (e->type->kind == TY_BOOL)
        return lower_truth(l, e->a);
    if (e->type->kind == TY_VOID) {
        lower_effect(l, e->a);
        return IR_NONE;
    }
    ir_ref v = lower_value(l, e->a);
    l->at.at = e->at;
    return lower_convert(l, v, e->a->type, e->type);
}

ir_ref lower_value(lower *l, const ast_expr *e)
{
    place unused;
    l->at.at = e->at;
    switch ((expr_kind)e->kind) {
    case E_INT: return lower_number(l, e->type, e->integer, (double)(int64_t)e->integer);
    case E_FLOAT: return lower_number(l, e->type, 0, e->real);
    case E_NAME: return name_value(l, e);
    case E_INDEX:
    case E_MEMBER: {
        place p = lower_place(l, e);
        l->at.at = e->at;
        return e->type->kind == TY_ARRAY ? lower_address(l, p) : lower_load(l, p);
    }
    case E_UNARY: return unary(l, e);
    case E_INCDEC: return incdec(l, e);
    case E_BINARY: return binary(l, e);
    case E_ASSIGN: return assign(l, e);
    case E_COND: return conditional(l, e);
    case E_STMT: lower_inner_block(l, e); return IR_NONE;
    case E_COMMA: lower_effect(l, e->a); return lower_value(l, e->b);
    case E_CALL: return any_call(l, e, &unused);
    case E_CAST:
    case E_CONVERT: return convert(l, e);
    case E_COMPOUND: {
        place p = lower_temp(l, e->type, e->at);
        lower_init(l, p, e->a);
        return e->type->kind == TY_ARRAY ? p.base : lower_load(l, p);
    }
    case E_INIT_LIST: // a scalar in braces
        if (e->inits.len)
            return lower_value(l, e->inits.at[0].value);
        return lower_number(l, e->type, 0, 0);
    case E_POISON:
    case E_STRING:
    case E_SIZEOF:
    case E_ALIGNOF:
    case E_GENERIC:
    case E_KIND_COUNT: break;
    }
    bug("expression kind %d has no value", e->kind);
}

ir_ref lower_operand(lower *l, const ast_expr *e)
{
    ir_ref v = lower_value(l, e);
    return ir_is_ptr(ir_type_of(l->func, v)) ? lower_generic(l, v) : v;
}

void lower_effect(lower *l, const ast_expr *e)
{
    if (e->kind == E_CAST || (e->kind == E_CONVERT && e->convert == CONVERT_NOOP))
        lower_effect(l, e->a);
    else if (e->kind == E_COMMA) {
        lower_effect(l, e->a);
        lower_effect(l, e->b);
    } else if (type_is_record(e->type))
        lower_place(l, e);
    else
        lower_value(l, e);
}
