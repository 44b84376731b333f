// Operators: unary, binary, assignment, ?:. Operands come back converted to the type the operation
// happens in, so lowering reads one type per node: a comparison's operands agree, && || ! take
// bools and give i32, pointer + integer has the pointer on the left.
// Start reading at check_binary.
#include "front/check.h"

// --- effects

bool check_has_effects(const ast_expr *e)
{
    if (!e)
        return false;
    if (e->kind == E_ASSIGN || e->kind == E_INCDEC || e->kind == E_STMT)
        return true;
    if (e->kind == E_CONVERT && e->convert == CONVERT_LOAD && (e->a->type->quals & QUAL_VOLATILE))
        return true;
    if (e->kind == E_CALL) {
        if (!e->builtin || (e->builtin->flags & BF_EFFECT))
            return true;
        for (uint32_t i = 0; i < e->args.len; i++)
            if (check_has_effects(e->args.at[i]))
                return true;
        return false;
    }
    for (uint32_t i = 0; i < e->inits.len; i++)
        if (check_has_effects(e->inits.at[i].value))
            return true;
    return check_has_effects(e->a) || check_has_effects(e->b) || check_has_effects(e->c);
}

// The variable that an lvalue is a part of, not looking through pointers.
static ast_decl *root_of(const ast_expr *e)
{
    for (;;) {
        if (e->kind == E_NAME)
            return e->decl;
        if (e->kind == E_MEMBER && !e->is_arrow)
            e = e->a;
        else if (e->kind == E_INDEX && e->a->kind == E_CONVERT && e->a->convert == CONVERT_DECAY)
            e = e->a->a;
        else
            return NULL;
    }
}

// --- messages

static const char *vector_helper(token_kind op, bool is_binary)
{
    switch (op) {
    case TOK_PLUS:
    case TOK_PLUS_EQ: return is_binary ? "vec_add(a, b)" : NULL;
    case TOK_MINUS:
    case TOK_MINUS_EQ: return is_binary ? "vec_sub(a, b)" : "vec_neg(a)";
    case TOK_STAR:
    case TOK_STAR_EQ: return "vec_mul(a, b), or vec_scale(a, number),";
    case TOK_SLASH:
    case TOK_SLASH_EQ: return "vec_div(a, b)";
    default: break;
    }
    return NULL;
}

// The rules that hold for every operator: no storage floats, no vectors or structs, no void.
static bool is_bad_operand(front *f, const ast_expr *e, ast_expr *operand)
{
    const type *t = operand->type;
    if (type_is_storage_float(t)) {
        diag *d = diag_raise(f->diags, K2014, operand->at, "'%s' has no operators: it only stores",
                             T_OF(f, t->unqualified));
        diag_label(d, operand->at, "operand of %s", check_op_text(e));
        if (e->kind == E_INCDEC) // its result must be stored, too
            diag_note(d, "compute in f32, and store to_%s(…)", T_OF(f, t->unqualified));
        else
            check_fix_around(f, d, operand, "compute in f32", "f32(", ")");
        return true;
    }
    if (type_is_record(t)) {
        diag *d = diag_raise(f->diags, K2016, operand->at, "%s does not work on '%s'",
                             check_op_text(e), T_OF(f, t->unqualified));
        diag_label(d, operand->at,
                   t->is_vector ? "compute member by member: .x .y …"
                                : "operators work on numbers and pointers");
        const char *helper = t->is_vector ? vector_helper((token_kind)e->op, e->b != NULL) : NULL;
        if (helper)
            diag_note(d, "%s does it for all members", helper);
        return true;
    }
    if (t->kind == TY_VOID) {
        check_no_value(f, operand, str_format(f->in, "operand of %s", check_op_text(e)));
        return true;
    }
    return false;
}

static ast_expr *bad_operands(front *f, ast_expr *e, const ast_expr *a, const ast_expr *b,
                              const char *why)
{
    diag *d = diag_raise(f->diags, K2003, check_op_place(e), "%s does not take '%s' and '%s'",
                         check_op_text(e), T_OF(f, a->type), T_OF(f, b->type));
    diag_label(d, a->at, "this is '%s'", T_OF(f, a->type));
    diag_label(d, b->at, "this is '%s'", T_OF(f, b->type));
    if (why)
        diag_note(d, "%s", why);
    return check_poison(f, e);
}

static ast_expr *bad_operand(front *f, ast_expr *e, const ast_expr *a, const char *why)
{
    diag *d = diag_raise(f->diags, K2003, e->at, "%s does not take '%s'", check_op_text(e),
                         T_OF(f, a->type));
    diag_label(d, a->at, "%s", why);
    return check_poison(f, e);
}

// --- unary

static ast_expr *check_address(front *f, ast_expr *e)
{
    ast_expr *a = e->a;
    a = check_expr(f, a);
    if (is_poison(a))
        return check_poison(f, e);
    if (a->type->kind == TY_FUNC)
        return check_function_value(f, a);
    if (!a->is_lvalue && a->kind != E_STRING) {
        diag *d = diag_raise(f->diags, K2020, e->at, "this has no address");
        diag_label(d, a->at, "a value, not a variable");
        return check_poison(f, e);
    }
    if (a->kind == E_MEMBER && a->bits) {
        diag *d = diag_raise(f->diags, K2020, e->at, "a bit-field has no address");
        diag_label(d, a->at, "its address is taken here");
        diag_label(d, a->bits->at, "declared with %d bits", a->bits->bits);
        diag_note(d, "copy it to a variable, and back afterwards");
        return check_poison(f, e);
    }
    ast_decl *root = root_of(a);
    if (root && root->is_register) {
        diag *d = diag_raise(f->diags, K2020, e->at,
                             "'%s' is a register variable: it has no address", root->name);
        diag_label(d, e->at, "its address is taken here");
        diag_label(d, root->at, "declared 'register' here");
        diag_note(d, "remove 'register': Kiln keeps variables in registers by itself");
        return check_poison(f, e);
    }
    if (root)
        root->is_address_taken = true;
    e->a = a;
    e->type = type_pointer(f->in, a->type);
    e->is_checked = true;
    return e;
}

static ast_expr *check_deref(front *f, ast_expr *e)
{
    ast_expr *a = check_rvalue(f, check_expr(f, e->a));
    if (is_poison(a))
        return check_poison(f, e);
    if (!is_pointer(a->type)) {
        diag *d = diag_raise(f->diags, K2021, e->at, "'*' needs a pointer, this is '%s'",
                             T_OF(f, a->type));
        diag_label(d, a->at, "not a pointer");
        return check_poison(f, e);
    }
    const type *to = a->type->base;
    if (to->kind == TY_VOID || type_def(to)->is_incomplete) {
        diag *d =
            diag_raise(f->diags, K2021, e->at, "'%s' cannot be dereferenced", T_OF(f, a->type));
        diag_label(d, a->at, "cast it to a pointer to the type that is stored there");
        return check_poison(f, e);
    }
    if (to->kind == TY_POISON)
        return check_poison(f, e);
    e->a = a;
    e->type = to;
    e->is_checked = true;
    e->is_lvalue = to->kind != TY_FUNC;
    return e;
}

ast_expr *check_unary(front *f, ast_expr *e)
{
    if (e->op == TOK_AMP)
        return check_address(f, e);
    if (e->op == TOK_STAR)
        return check_deref(f, e);
    ast_expr *a = check_rvalue(f, check_expr(f, e->a));
    if (is_poison(a) || is_bad_operand(f, e, a))
        return check_poison(f, e);
    e->is_checked = true;
    e->is_const = a->is_const;
    if (e->op == TOK_NOT) {
        e->a = check_to_bool(f, a);
        e->type = type_scalar(TY_I32);
        return e;
    }
    if (!type_is_arith(a->type))
        return bad_operand(f, e, a, "only numbers can");
    if (e->op == TOK_TILDE && !type_is_integer(a->type))
        return bad_operand(f, e, a, "only integers have bits to flip");
    e->a = check_promote(f, a);
    e->type = e->a->type;
    return e;
}

// --- binary

static bool has_element_size(front *f, const ast_expr *e, const ast_expr *pointer)
{
    const type *to = pointer->type->base;
    if (check_map_step(f, pointer->type, pointer->at))
        return false;
    if (to->kind != TY_VOID && to->kind != TY_FUNC && !type_def(to)->is_incomplete)
        return true;
    diag *d =
        diag_raise(f->diags, K2048, check_op_place(e), "%s on '%s': its elements have no size",
                   check_op_text(e), T_OF(f, pointer->type));
    diag_label(d, pointer->at, "cast it to a pointer to the element type (u8 * counts bytes)");
    return false;
}

static ast_expr *check_pointer_sum(front *f, ast_expr *e)
{
    ast_expr *a = e->a, *b = e->b;
    if (is_pointer(a->type) && is_pointer(b->type)) {
        if (e->op == TOK_PLUS)
            return bad_operands(f, e, a, b, "pointers can be subtracted, not added");
        if (!check_pointee_same(a->type->base, b->type->base))
            return bad_operands(f, e, a, b,
                                "the difference counts elements, so both must point to "
                                "the same type");
        if (!has_element_size(f, e, a))
            return check_poison(f, e);
        uint64_t address;
        e->type = type_scalar(TY_I64);
        e->is_const = const_address(f, a, &address) && const_address(f, b, &address);
        return e;
    }
    if (is_pointer(b->type)) {
        if (e->op == TOK_MINUS)
            return bad_operands(f, e, a, b, "a pointer cannot be subtracted from a number");
        if (!check_has_effects(a) || !check_has_effects(b)) {
            e->a = b;
            e->b = a;
            a = e->a;
            b = e->b;
        }
    }
    ast_expr *pointer = is_pointer(a->type) ? a : b, *count = pointer == a ? b : a;
    if (!type_is_integer(count->type))
        return bad_operands(f, e, a, b, "a pointer moves by an integer");
    if (!has_element_size(f, e, pointer))
        return check_poison(f, e);
    if (count == e->b)
        e->b = check_promote(f, count);
    else
        e->a = check_promote(f, count);
    check_index_width(f, pointer, count);
    e->type = pointer->type;
    return e;
}

// NULL as a pointer to a function.
static ast_expr *null_function(front *f, const ast_expr *e, const type *to)
{
    return check_force(f, check_int(f, e->at, type_scalar(TY_I32), 0), to);
}

static ast_expr *check_pointer_comparison(front *f, ast_expr *e)
{
    ast_expr *a = e->a, *b = e->b;
    e->type = type_scalar(TY_I32);
    bool equality = e->op == TOK_EQ || e->op == TOK_NE;
    if (is_pointer(a->type) && is_pointer(b->type)) {
        const type *x = a->type->base, *y = b->type->base;
        if (!equality && (x->kind == TY_FUNC || y->kind == TY_FUNC))
            return bad_operands(f, e, a, b, "functions have no order: compare with == or !=");
        if (check_pointee_fits(f, x, y))
            return e;
        if (x->kind == TY_FUNC && check_is_null_pointer(f, b)) {
            e->b = null_function(f, b, a->type);
            return e;
        }
        if (y->kind == TY_FUNC && check_is_null_pointer(f, a)) {
            e->a = null_function(f, a, b->type);
            return e;
        }
        if (check_mixes_functions(f, b->type, a->type, check_op_place(e)))
            return check_poison(f, e);
        if (equality && (x->kind == TY_VOID || y->kind == TY_VOID))
            return e;
        diag *d = diag_raise(f->diags, K2049, check_op_place(e), "%s compares '%s' with '%s'",
                             check_op_text(e), T_OF(f, a->type), T_OF(f, b->type));
        diag_label(d, a->at, "points to '%s'", T_OF(f, x));
        diag_label(d, b->at, "points to '%s'", T_OF(f, y));
        diag_note(d, "cast both to 'const void *' if the addresses are meant");
        return check_poison(f, e);
    }
    if (equality && is_pointer(a->type) && check_is_null(f, b)) {
        e->b = check_force(f, b, a->type);
        return e;
    }
    if (equality && is_pointer(b->type) && check_is_null(f, a)) {
        e->a = check_force(f, a, b->type);
        return e;
    }
    return bad_operands(f, e, a, b, "a pointer is compared with a pointer, or with 0");
}

static ast_expr *check_logical(front *f, ast_expr *e)
{
    const_value v;
    e->a = check_condition(f, e->a);
    e->b = check_condition(f, e->b);
    if (is_poison(e->a) || is_poison(e->b))
        return check_poison(f, e);
    e->type = type_scalar(TY_I32);
    e->is_checked = true;
    e->is_const = e->a->is_const && e->b->is_const;
    if (e->a->is_const && const_eval(f, e->a, &v) && (v.integer != 0) == (e->op == TOK_OROR))
        e->is_const = true; // the left side decides
    return e;
}

static ast_expr *float_remainder(front *f, ast_expr *e, const ast_expr *a, const ast_expr *b)
{
    str x = source_text(f->sources, a->at), y = source_text(f->sources, b->at);
    diag *d =
        diag_raise(f->diags, K2017, check_op_place(e), "'%%' takes integers; floats have fmod()");
    diag_label(d, check_op_place(e), "on '%s' and '%s'", T_OF(f, a->type), T_OF(f, b->type));
    diag_fix(d, e->at, "use fmod", "fmod(%.*s, %.*s)", (int)x.len, x.at, (int)y.len, y.at);
    return check_poison(f, e);
}

ast_expr *check_binary(front *f, ast_expr *e)
{
    if (e->op == TOK_ANDAND || e->op == TOK_OROR)
        return check_logical(f, e);
    ast_expr *a = check_rvalue(f, check_expr(f, e->a));
    ast_expr *b = check_rvalue(f, check_expr(f, e->b));
    if (is_poison(a) || is_poison(b))
        return check_poison(f, e);
    if (is_bad_operand(f, e, a) || is_bad_operand(f, e, b))
        return check_poison(f, e);
    e->a = a;
    e->b = b;
    e->is_checked = true;
    bool pointers = is_pointer(a->type) || is_pointer(b->type);
    bool integers = type_is_integer(a->type) && type_is_integer(b->type);
    e->is_const = a->is_const && b->is_const && !pointers;
    switch (e->op) {
    case TOK_PLUS:
    case TOK_MINUS:
        if (pointers)
            return check_pointer_sum(f, e);
        e->type = check_usual(f, &e->a, &e->b);
        check_warn_overflow(f, e);
        return e;
    case TOK_EQ:
    case TOK_NE:
    case TOK_LT:
    case TOK_GT:
    case TOK_LE:
    case TOK_GE:
        if (pointers)
            return check_pointer_comparison(f, e);
        if (integers)
            check_warn_signs(f, e);
        check_usual(f, &e->a, &e->b);
        e->type = type_scalar(TY_I32);
        check_warn_comparison(f, e);
        return e;
    case TOK_SHL:
    case TOK_SHR:
        if (!integers)
            return bad_operands(f, e, a, b, "only integers can be shifted");
        e->a = check_promote(f, a);
        e->b = check_promote(f, b);
        e->type = e->a->type;
        e->shifts = (uint8_t)f->shifts;
        check_warn_shift(f, e, e->b);
        return e;
    case TOK_PERCENT:
        if (!integers && !pointers)
            return float_remainder(f, e, a, b);
        break;
    case TOK_AMP:
    case TOK_CARET:
    case TOK_PIPE:
        if (!integers)
            return bad_operands(f, e, a, b, "only integers have bits");
        break;
    }
    if (pointers)
        return bad_operands(f, e, a, b, NULL);
    e->type = check_usual(f, &e->a, &e->b);
    if (e->op == TOK_SLASH || e->op == TOK_PERCENT)
        check_warn_zero(f, e, e->b);
    if (e->op == TOK_STAR)
        check_warn_overflow(f, e);
    return e;
}

// --- assignment

// A const member of a record, however deep; NULL: there is none.
static const field *const_member(const type *t)
{
    while (t->kind == TY_ARRAY)
        t = t->base;
    const type *def = type_def(t);
    for (uint32_t i = 0; type_is_record(t) && i < def->fields.len; i++) {
        const field *inner = &def->fields.at[i];
        if (check_deep_quals(inner->type) & QUAL_CONST)
            return inner;
        inner = const_member(inner->type);
        if (inner)
            return inner;
    }
    return NULL;
}

bool check_modifiable(front *f, ast_expr *e, span op_at)
{
    if (is_poison(e))
        return false;
    const ast_expr *top = e;
    if (check_map_value(f, e->type, e->at, "assigned to"))
        return false;
    if (!e->is_lvalue || e->type->kind == TY_ARRAY || e->type->kind == TY_FUNC) {
        diag *d = diag_raise(f->diags, K2018, e->at, "this cannot be assigned to");
        diag_label(d, e->at,
                   e->type->kind == TY_ARRAY ? "an array: assign its elements one by one"
                                             : "a value, not a variable");
        if (op_at.lo)
            diag_label(d, op_at, "assigned here");
        return false;
    }
    if (type_def(e->type)->is_incomplete || e->type->kind == TY_VOID) {
        diag *d = diag_raise(f->diags, K2018, e->at, "this cannot be assigned to");
        diag_label(d, e->at, "'%s' has no size here", T_OF(f, e->type));
        return false;
    }
    if (e->type->quals & QUAL_CONST) {
        diag *d = diag_raise(f->diags, K2019, e->at, "'%s' is const: it cannot be changed",
                             T_OF(f, e->type));
        diag_label(d, e->at, "changed here");
        ast_decl *root = root_of(top);
        const ast_expr *inner = top;
        while (!root && inner) { // through a pointer: the pointer's declaration says const
            inner = inner->a;
            if (inner && inner->kind == E_NAME)
                root = inner->decl;
        }
        if (root)
            diag_label(d, root->at, "declared const here");
        return false;
    }
    const field *fixed = const_member(e->type);
    if (fixed) {
        diag *d = diag_raise(f->diags, K2019, e->at,
                             "'%s' has a const member: it cannot be assigned", T_OF(f, e->type));
        diag_label(d, e->at, "changed here");
        if (fixed->at.lo)
            diag_label(d, fixed->at, "'%s' is const", fixed->name ? fixed->name : "this member");
        diag_note(d, "initialise a new variable, or assign the other members one by one");
        return false;
    }
    ast_decl *root = root_of(e);
    if (root)
        root->is_assigned = true;
    return true;
}

bool check_writes_array(front *f, ast_expr *e)
{
    ast_decl *root = root_of(e);
    if (check_deep_quals(e->type) & QUAL_CONST) {
        diag *d = diag_raise(f->diags, K2019, e->at, "'%s' is const: it cannot be changed",
                             T_OF(f, e->type));
        diag_label(d, e->at, "changed here");
        if (root)
            diag_label(d, root->at, "declared const here");
        return false;
    }
    if (root)
        root->is_assigned = true;
    return true;
}

ast_expr *check_incdec(front *f, ast_expr *e)
{
    ast_expr *a = check_expr(f, e->a);
    if (is_poison(a) || is_bad_operand(f, e, a) || !check_modifiable(f, a, e->op_at))
        return check_poison(f, e);
    if (a->type->kind == TY_BOOL && check_is_strict(f))
        return bad_operand(f, e, a, "assign true or false instead");
    if (is_pointer(a->type) && !has_element_size(f, e, a))
        return check_poison(f, e);
    e->a = a;
    e->type = a->type->unqualified;
    e->is_checked = true;
    return e;
}

static token_kind plain_op(token_kind compound)
{
    switch (compound) {
    case TOK_STAR_EQ: return TOK_STAR;
    case TOK_SLASH_EQ: return TOK_SLASH;
    case TOK_PERCENT_EQ: return TOK_PERCENT;
    case TOK_PLUS_EQ: return TOK_PLUS;
    case TOK_MINUS_EQ: return TOK_MINUS;
    case TOK_SHL_EQ: return TOK_SHL;
    case TOK_SHR_EQ: return TOK_SHR;
    case TOK_AMP_EQ: return TOK_AMP;
    case TOK_CARET_EQ: return TOK_CARET;
    case TOK_PIPE_EQ: return TOK_PIPE;
    default: break;
    }
    return TOK_ASSIGN;
}

static ast_expr *storage_compound(front *f, ast_expr *e, const ast_expr *a, const ast_expr *b)
{
    const char *name = T_OF(f, a->type->unqualified);
    diag *d = diag_raise(f->diags, K2014, a->at, "'%s' has no operators: it only stores", name);
    diag_label(d, e->op_at.lo ? e->op_at : a->at, "computes on '%s'", name);
    str x = source_text(f->sources, a->at), y = source_text(f->sources, b->at);
    const char *op = token_kind_spelling(plain_op((token_kind)e->op));
    bool narrow = type_is_storage_float(b->type);
    if (narrow || b->type->kind == TY_F32)
        diag_fix(d, e->at, "compute in f32", "%.*s = to_%s(f32(%.*s) %.*s %s(%.*s))", (int)x.len,
                 x.at, name, (int)x.len, x.at, (int)strlen(op) - 2, op + 1, narrow ? "f32" : "",
                 (int)y.len, y.at);
    return check_poison(f, e);
}

// The arithmetic of `a op= b`: sets compute_type and converts b. See 0001, "Compound assignment".
static ast_expr *compound_numbers(front *f, ast_expr *e, ast_expr *a, ast_expr *b)
{
    const type *t = a->type->unqualified;
    bool shift = e->op == TOK_SHL_EQ || e->op == TOK_SHR_EQ;
    bool bits = shift || e->op == TOK_AMP_EQ || e->op == TOK_CARET_EQ || e->op == TOK_PIPE_EQ;
    bool integers = type_is_integer(t) && type_is_integer(b->type);
    if (bits && !integers)
        return bad_operands(f, e, a, b, "only integers have bits");
    if (e->op == TOK_PERCENT_EQ && !integers) {
        str x = source_text(f->sources, a->at), y = source_text(f->sources, b->at);
        diag *d = diag_raise(f->diags, K2017, check_op_place(e),
                             "'%%' takes integers; floats have fmod()");
        diag_label(d, check_op_place(e), "on '%s' and '%s'", T_OF(f, t), T_OF(f, b->type));
        if (type_is_float(t))
            diag_fix(d, e->at, "use fmod", "%.*s = fmod(%.*s, %.*s)", (int)x.len, x.at, (int)x.len,
                     x.at, (int)y.len, y.at);
        return check_poison(f, e);
    }
    const type *read = a->kind == E_MEMBER && a->bits ? check_bits_type(a->bits) : t;
    if (shift) {
        e->compute_type = check_promoted_type(read);
        e->b = check_promote(f, b);
        e->shifts = (uint8_t)f->shifts;
        ast_expr probe = {.type = e->compute_type};
        check_warn_shift(f, &probe, e->b);
        return e;
    }
    bool result_fits = t->kind == TY_BOOL || check_keeps_values(b->type, t) ||
                       check_fits(f, b, t) || !check_is_strict(f);
    if (!result_fits || (t->kind == TY_F32 && b->type->kind == TY_F64 && check_is_strict(f)))
        b = check_convert(f, b, t, NULL); // says what is lost; exact f64 constants become f32 here
    e->compute_type = check_usual_type(read, b->type);
    if (!check_keeps_values(read, e->compute_type) && check_is_strict(f)) {
        diag *d = diag_raise(f->diags, K2004, a->at, "'%s' does not convert silently to '%s'",
                             T_OF(f, t), T_OF(f, e->compute_type));
        diag_label(d, a->at, "converted for the computation");
        diag_label(d, b->at, "because this is '%s'", T_OF(f, b->type));
        return check_poison(f, e);
    }
    e->b = check_convert(f, b, e->compute_type, NULL);
    return e;
}

static ast_expr *check_compound_assign(front *f, ast_expr *e, ast_expr *a, ast_expr *b)
{
    if (type_is_storage_float(a->type) &&
        (type_is_arith(b->type) || type_is_storage_float(b->type)))
        return storage_compound(f, e, a, b);
    if (is_bad_operand(f, e, a) || is_bad_operand(f, e, b))
        return check_poison(f, e);
    if (is_pointer(a->type)) {
        if ((e->op != TOK_PLUS_EQ && e->op != TOK_MINUS_EQ) || !type_is_integer(b->type))
            return bad_operands(f, e, a, b, "a pointer moves by an integer, with += or -=");
        if (!has_element_size(f, e, a))
            return check_poison(f, e);
        e->compute_type = a->type->unqualified;
        e->b = check_promote(f, b);
        check_index_width(f, a, e->b);
        return e;
    }
    if (is_pointer(b->type))
        return bad_operands(f, e, a, b, NULL);
    e = compound_numbers(f, e, a, b);
    if (!is_poison(e) && (e->op == TOK_SLASH_EQ || e->op == TOK_PERCENT_EQ))
        check_warn_zero(f, e, e->b);
    return e;
}

ast_expr *check_assign(front *f, ast_expr *e)
{
    ast_expr *a = check_expr(f, e->a);
    ast_expr *b = check_rvalue(f, check_expr(f, e->b));
    if (is_poison(a) || is_poison(b) || !check_modifiable(f, a, e->op_at))
        return check_poison(f, e);
    e->a = a;
    e->b = b;
    e->is_checked = true;
    e->type = a->type->unqualified;
    if (e->op != TOK_ASSIGN)
        return check_compound_assign(f, e, a, b);
    if (a->kind == E_NAME && b->kind == E_CONVERT && b->convert == CONVERT_LOAD &&
        b->a->kind == E_NAME && b->a->decl == a->decl && !(a->type->quals & QUAL_VOLATILE)) {
        diag *d = diag_raise(f->diags, K2204, e->at, "'%s' is assigned to itself", a->decl->name);
        diag_label(d, e->at, "this changes nothing");
    }
    if (a->kind == E_MEMBER && a->bits && type_is_arith(b->type))
        check_bits_fit(f, b, a->bits);
    e->b = check_convert(f, b, e->type, NULL);
    return is_poison(e->b) ? check_poison(f, e) : e;
}

// --- ?:

static ast_expr *check_pointer_choice(front *f, ast_expr *e)
{
    ast_expr *b = e->b, *c = e->c;
    if (is_pointer(b->type) && is_pointer(c->type)) {
        const type *x = b->type->base, *y = c->type->base;
        unsigned quals = check_deep_quals(x) | check_deep_quals(y);
        const type *to = NULL;
        if ((x->kind == TY_FUNC) != (y->kind == TY_FUNC)) {
            bool is_first = x->kind == TY_FUNC;
            if (!check_is_null_pointer(f, is_first ? c : b))
                return NULL;
            e->type = is_first ? b->type : c->type;
            e->b = is_first ? b : null_function(f, b, e->type);
            e->c = is_first ? null_function(f, c, e->type) : c;
            return e;
        }
        bool b_is_null = x->kind == TY_VOID && !x->quals && check_is_null_pointer(f, b);
        bool c_is_null = y->kind == TY_VOID && !y->quals && check_is_null_pointer(f, c);
        if (b_is_null != c_is_null) { // (void *)0 fits every pointer and takes nothing from it
            to = b_is_null ? y : x;
            quals = 0;
        } else if (check_pointee_same(x, y))
            to = x;
        else if (x->kind == TY_VOID || y->kind == TY_VOID)
            to = type_scalar(TY_VOID);
        if (to) {
            if (to->kind != TY_ARRAY && to->kind != TY_FUNC)
                to = type_qualified(f->in, to->unqualified, to->quals | quals);
            e->type = type_pointer(f->in, to);
            e->b = check_force(f, b, e->type);
            e->c = check_force(f, c, e->type);
            return e;
        }
        return NULL;
    }
    if (is_pointer(b->type) && check_is_null(f, c)) {
        e->type = b->type;
        e->c = check_force(f, c, b->type);
        return e;
    }
    if (is_pointer(c->type) && check_is_null(f, b)) {
        e->type = c->type;
        e->b = check_force(f, b, c->type);
        return e;
    }
    return NULL;
}

ast_expr *check_conditional(front *f, ast_expr *e)
{
    e->a = check_condition(f, e->a);
    ast_expr *b = e->b = check_rvalue(f, check_expr(f, e->b));
    ast_expr *c = e->c = check_rvalue(f, check_expr(f, e->c));
    if (is_poison(e->a) || is_poison(b) || is_poison(c))
        return check_poison(f, e);
    e->is_checked = true;
    if (type_is_arith(b->type) && type_is_arith(c->type)) {
        e->type = check_usual(f, &e->b, &e->c);
        e->is_const = e->a->kind == E_INT && (e->a->integer ? e->b : e->c)->is_const;
        return e;
    }
    ast_expr *pointers = check_pointer_choice(f, e);
    if (pointers)
        return pointers;
    if (!is_pointer(b->type) && type_same(b->type, c->type, true)) {
        e->type = b->type->unqualified;
        return e;
    }
    diag *d = diag_raise(f->diags, K2052, check_op_place(e),
                         "'?:' gives '%s' or '%s', which do not agree", T_OF(f, b->type),
                         T_OF(f, c->type));
    diag_label(d, b->at, "this is '%s'", T_OF(f, b->type));
    diag_label(d, c->at, "this is '%s'", T_OF(f, c->type));
    return check_poison(f, e);
}
