// Types expressions: names, literals, members, indices, sizeof, _Generic; operators are in
// check_ops.c, calls in check_call.c. Nodes are changed in place where they stay and replaced
// where they do not (constants, conversions).
// Invariant: what check_expr returns is checked, has a type, and is never NULL.
// Start reading at check_expr.
#include <string.h>

#include "front/check.h"

// --- names

static const struct named_constant {
    const char *name;
    type_kind kind;
    uint64_t value;
} named_constants[] = {
    {"order_relaxed", TY_U32, 0}, {"order_acquire", TY_U32, 1}, {"order_release", TY_U32, 2},
    {"order_acq_rel", TY_U32, 3}, {"order_seq_cst", TY_U32, 4}, {"scope_device", TY_U32, 0},
    {"scope_block", TY_U32, 1},   {"scope_cluster", TY_U32, 2}, {"scope_system", TY_U32, 3},
    {"true", TY_I32, 1},          {"false", TY_I32, 0},
};

static ast_expr *constant(front *f, ast_expr *e, const type *t, uint64_t value)
{
    (void)f;
    e->kind = E_INT;
    e->type = t;
    e->integer = value;
    e->is_checked = e->is_const = true;
    e->is_lvalue = false;
    return e;
}

// C's headers have functions for those of their names that are builtins here, so that a pointer can
// point to one. NULL: there is none.
static ast_decl *function_of_builtin(front *f, const char *name)
{
    const char *wanted = name_cstr(f->names, str_format(f->in, "__k_of_%s", name));
    return scope_find(f->file_scope, wanted);
}

static ast_expr *check_name(front *f, ast_expr *e);

static ast_expr *unknown_name(front *f, ast_expr *e)
{
    for (size_t i = 0; i < COUNT(named_constants); i++)
        if (!strcmp(e->name, named_constants[i].name))
            return constant(f, e, type_scalar(named_constants[i].kind), named_constants[i].value);
    const type *fixed;
    const builtin *b = builtin_find(e->name, &fixed);
    diag *d;
    if (b && (e->decl = function_of_builtin(f, e->name)))
        return check_name(f, e);
    if (b) {
        d = diag_raise(f->diags, K2029, e->at, "'%s' is a builtin function: it must be called",
                       e->name);
        diag_label(d, e->at, "%s", b->doc);
        if (strstr(b->signature, "()"))
            diag_fix(d, e->at, "call it", "%s()", e->name);
        return check_poison(f, e);
    }
    d = diag_raise(f->diags, K2001, e->at, "'%s' is not declared", e->name);
    const foreign_name *foreign = foreign_find(e->name);
    const char *near = foreign ? NULL : front_suggest(f, e->scope, e->name);
    if (foreign) {
        const char *advice = foreign_text(f, foreign, NULL, "x");
        diag_label(d, e->at, "Kiln spells it '%s'", advice ? advice : foreign->advice);
        if (advice && !foreign->member)
            diag_fix(d, e->at, "use Kiln's name", "%s", advice);
    } else if (near) {
        const builtin *other = builtin_find(near, &fixed);
        bool calls = other && !scope_find(e->scope ? e->scope : f->file_scope, near);
        diag_label(d, e->at, "did you mean '%s%s'?", near, calls ? "()" : "");
        if (!calls || strstr(other->signature, "()"))
            diag_fix(d, e->at, "use the known name", "%s%s", near, calls ? "()" : "");
    } else {
        diag_label(d, e->at, "no variable, parameter or constant of this name is visible here");
    }
    return check_poison(f, e);
}

static ast_expr *host_variable(front *f, ast_expr *e, const ast_decl *decl)
{
    if (decl->held) { // a table whose values are wrong: say what is wrong with them, once
        diag *held = decl->held;
        for (uint32_t i = 0; i < f->diags->list.len; i++)
            if (f->diags->list.at[i] == held)
                return check_poison(f, e);
        vec_push(f->diags->in, &f->diags->list, held);
        f->diags->error_count++;
        return check_poison(f, e);
    }
    diag *d = diag_raise(f->diags, K2054, e->at, "'%s' lives on the host: a kernel cannot reach it",
                         decl->name);
    diag_label(d, e->at, "used in device code here");
    diag_label(d, decl->at, "declared here");
    diag_note(d,
              "pass its value as a kernel parameter, or make it a 'static const' with a constant "
              "initialiser");
    return check_poison(f, e);
}

static ast_expr *check_name(front *f, ast_expr *e)
{
    ast_decl *decl = e->decl;
    if (!decl)
        return unknown_name(f, e);
    decl->is_used = true;
    switch ((decl_kind)decl->kind) {
    case DECL_ENUM_CONST: return constant(f, e, type_scalar(TY_I32), (uint64_t)decl->value);
    case DECL_TUNE: {
        bool wide = decl->value != (int32_t)decl->value;
        return constant(f, e, type_scalar(wide ? TY_I64 : TY_I32), (uint64_t)decl->value);
    }
    case DECL_FUNC:
        if (!f->unevaluated)
            return check_function_name(f, e);
        break;
    case DECL_TYPEDEF: return check_poison(f, e); // the parser has told
    case DECL_VAR:
        if (decl->is_per_thread) {
            check_per_thread(f, decl, e->at);
            break;
        }
        if (decl->is_file_scope && !decl->is_shared && !decl->is_const_data && !f->unevaluated &&
            (decl->held || decl->type->kind != TY_POISON))
            return host_variable(f, e, decl);
        if (decl->is_const_data)
            check_functions_of(f, decl, e->at);
        break;
    case DECL_PARAM: break;
    }
    e->type = decl->type;
    e->is_checked = true;
    e->is_lvalue = decl->kind != DECL_FUNC;
    return decl->type->kind == TY_POISON ? check_poison(f, e) : e;
}

// --- literals

static ast_expr *check_literal(ast_expr *e)
{
    if (!e->type) {
        if (e->kind == E_FLOAT)
            e->type = type_scalar(TY_F64);
        else
            e->type = type_scalar((int64_t)e->integer == (int32_t)e->integer ? TY_I32 : TY_I64);
    }
    e->is_const = e->is_checked = true;
    return e;
}

static ast_expr *check_string(front *f, ast_expr *e)
{
    // C's literals are not const, for programs from before there was such a word
    const type *c = type_qualified(f->in, type_scalar(TY_I8), f->lax_conversions ? 0 : QUAL_CONST);
    e->type = type_array(f->in, c, e->bytes.len + 1, false);
    e->is_checked = true;
    return e;
}

// --- [] . ->

// Factors that are small by nature: sizes and indices within a block.
static bool is_small_factor(const ast_expr *e)
{
    while (e->kind == E_CONVERT)
        e = e->a;
    if (e->is_const)
        return true;
    if (e->kind == E_CALL && e->builtin)
        switch (e->builtin->id) {
        case BI_thread_x:
        case BI_thread_y:
        case BI_thread_z:
        case BI_block_dim_x:
        case BI_block_dim_y:
        case BI_block_dim_z:
        case BI_thread_rank:
        case BI_block_threads:
        case BI_lane:
        case BI_warp:
        case BI_warp_count:
        case BI_warp_lanes: return true;
        default: break;
        }
    return type_is_integer(e->type) && e->type->size < 4;
}

static const ast_expr *find_narrow_product(const ast_expr *e)
{
    while (e->kind == E_CONVERT && e->convert <= CONVERT_INT && !e->cast_type &&
           e->a->type->size == 4)
        e = e->a;
    if (e->kind != E_BINARY || !type_is_integer(e->type) || e->type->size != 4)
        return NULL;
    if (e->op == TOK_STAR)
        return is_small_factor(e->a) || is_small_factor(e->b) ? NULL : e;
    if (e->op != TOK_PLUS && e->op != TOK_MINUS)
        return NULL;
    const ast_expr *left = find_narrow_product(e->a);
    return left ? left : find_narrow_product(e->b);
}

static bool is_array_base(const ast_expr *a)
{
    while (a->kind == E_CONVERT && a->convert == CONVERT_NOOP)
        a = a->a;
    return a->kind == E_CONVERT && a->convert == CONVERT_DECAY;
}

// Another narrow product of a function whose first one was told.
static void add_narrow_index(front *f, diag *d, span product, span before)
{
    span at = source_spell(f->sources, product).at;
    for (uint32_t i = 0; i < d->labels.len; i++)
        if (d->labels.at[i].at.lo == at.lo && d->labels.at[i].at.hi == at.hi)
            return;
    diag_label(d, product, "so is this");
    if (before.lo)
        diag_fix_more(d, span_before(before), "(i64)");
}

void check_index_width(front *f, const ast_expr *base, const ast_expr *index)
{
    const ast_expr *product = is_array_base(base) ? NULL : find_narrow_product(index);
    if (!product || f->lax_conversions || f->unevaluated)
        return;
    // Told once in a function: the others are labels of the first, and part of its fix.
    ast_decl *func = f->current_func;
    span before = product->a->at;
    bool has_place = diag_fix_place(f->diags, &before);
    if (func && func->narrow_index) {
        add_narrow_index(f, func->narrow_index, product->at, has_place ? before : (span){0, 0});
        return;
    }
    diag *d = diag_raise(f->diags, K2207, product->at,
                         "this product is computed in 32 bits and wraps beyond 2^%d elements",
                         type_is_signed(product->type) ? 31 : 32);
    diag_label(d, product->at, "'%s' times '%s'", T_OF(f, product->a->type),
               T_OF(f, product->b->type));
    diag_label(d, base->at, "indexes memory that may be larger");
    if (has_place)
        diag_fix(d, span_before(before), "compute the index in 64 bits", "(i64)");
    if (func)
        func->narrow_index = d;
}

static void warn_about_index(front *f, const ast_expr *base, const ast_expr *index)
{
    const_value v;
    if (is_array_base(base)) {
        const ast_expr *array = base;
        while (array->kind == E_CONVERT)
            array = array->a;
        const type *t = array->type;
        if (t->kind != TY_ARRAY || t->is_incomplete || !index->is_const ||
            !const_eval(f, index, &v))
            return;
        if (v.integer >= t->len && !f->unevaluated) {
            diag *d = diag_raise(f->diags, K2209, index->at, "index %lld is outside '%s'",
                                 (long long)v.integer, T_OF(f, t));
            diag_label(d, index->at, "the last element is %llu",
                       (unsigned long long)(t->len ? t->len - 1 : 0));
            if (array->kind == E_NAME && array->decl)
                diag_label(d, array->decl->at, "declared here with %llu elements",
                           (unsigned long long)t->len);
        }
        return;
    }
    check_index_width(f, base, index);
}

static ast_expr *check_index(front *f, ast_expr *e)
{
    ast_expr *a = check_rvalue(f, check_expr(f, e->a));
    ast_expr *b = check_rvalue(f, check_expr(f, e->b));
    if (is_poison(a) || is_poison(b))
        return check_poison(f, e);
    if (!is_pointer(a->type) && is_pointer(b->type) &&
        !(check_has_effects(a) && check_has_effects(b))) {
        ast_expr *swap = a;
        a = b;
        b = swap;
    }
    if (!is_pointer(a->type)) {
        diag *d = diag_raise(f->diags, K2022, a->at, "'%s' cannot be indexed", T_OF(f, a->type));
        diag_label(d, a->at, "only arrays and pointers can");
        if (a->type->is_vector)
            diag_note(d, "the elements of a vector are its members .x .y .z .w (or .e[i])");
        return check_poison(f, e);
    }
    if (!type_is_integer(b->type)) {
        diag *d = diag_raise(f->diags, K2022, b->at, "an index is an integer, not '%s'",
                             T_OF(f, b->type));
        diag_label(d, b->at, "this is '%s'", T_OF(f, b->type));
        if (type_is_float(b->type))
            check_fix_around(f, d, b, "convert explicitly", "(i32)", "");
        return check_poison(f, e);
    }
    const type *element = a->type->base;
    if (element->kind == TY_POISON)
        return check_poison(f, e);
    if (check_map_step(f, a->type, a->at))
        return check_poison(f, e);
    if (element->kind == TY_VOID || type_def(element)->is_incomplete || element->kind == TY_FUNC) {
        diag *d = diag_raise(f->diags, K2048, a->at, "'%s' has no element size", T_OF(f, a->type));
        diag_label(d, a->at, "cast it to a pointer to the element type first");
        return check_poison(f, e);
    }
    e->a = a;
    e->b = check_promote(f, b);
    e->type = element;
    e->is_lvalue = e->is_checked = true;
    warn_about_index(f, a, e->b);
    return e;
}

static const char *nearest_field(const type *record, const char *name)
{
    const char *best = NULL;
    unsigned best_distance = 3;
    const type *def = type_def(record);
    for (uint32_t i = 0; i < def->fields.len; i++) {
        const char *field_name = def->fields.at[i].name;
        if (str_nearer(str_of(name), field_name, &best_distance))
            best = field_name;
    }
    return best;
}

// The member's name in `a.name`: what stands behind the operator.
static span member_name_at(const ast_expr *e)
{
    bool has_operator =
        e->op_at.lo && e->op_at.hi < e->at.hi && !((e->op_at.hi ^ e->at.hi) & SOURCE_MACRO);
    return has_operator ? (span){e->op_at.hi, e->at.hi} : e->at;
}

static ast_expr *no_such_member(front *f, ast_expr *e, const type *record)
{
    static const char colours[] = "rgba", *const axes[] = {"x", "y", "z", "w"};
    span at = member_name_at(e);
    diag *d = diag_raise(f->diags, K2023, at, "'%s' has no member '%s'",
                         T_OF(f, record->unqualified), e->name);
    const char *near = nearest_field(record, e->name);
    const char *colour = e->name[0] && !e->name[1] ? strchr(colours, e->name[0]) : NULL;
    uint64_t offset;
    if (record->is_vector && colour) {
        const char *axis = name_cstr(f->names, axes[colour - colours]);
        near = type_find_field(record, axis, &offset) ? axis : NULL;
    }
    if (near) {
        diag_label(d, at, "did you mean '%s'?", near);
        diag_fix(d, at, "use the known member", "%s", near);
    } else {
        diag_label(d, at, "no such member");
    }
    if (type_def(record)->at.lo)
        diag_label(d, type_def(record)->at, "defined here");
    return check_poison(f, e);
}

static ast_expr *foreign_member(front *f, ast_expr *e)
{
    const foreign_name *foreign =
        e->a->kind == E_NAME && !e->a->decl ? foreign_find(e->a->name) : NULL;
    const char *advice =
        foreign && foreign->member ? foreign_text(f, foreign, NULL, e->name) : NULL;
    if (!advice)
        return NULL;
    diag *d = diag_raise(f->diags, K2001, e->at, "'%s' is not declared", e->a->name);
    diag_label(d, e->at, "Kiln spells it '%s'", advice);
    diag_fix(d, e->at, "use Kiln's name", "%s", advice);
    return check_poison(f, e);
}

static ast_expr *check_member(front *f, ast_expr *e)
{
    ast_expr *foreign = foreign_member(f, e);
    if (foreign)
        return foreign;
    ast_expr *a = check_expr(f, e->a);
    if (e->is_arrow || a->type->kind == TY_ARRAY)
        a = check_rvalue(f, a);
    if (is_poison(a))
        return check_poison(f, e);
    const type *record = a->type;
    bool through_pointer = is_pointer(record);
    if (through_pointer)
        record = record->base;
    if (record->kind == TY_POISON)
        return check_poison(f, e);
    if (!type_is_record(record)) {
        diag *d =
            diag_raise(f->diags, K2025, member_name_at(e), "'%s' has no members", T_OF(f, a->type));
        diag_label(d, a->at, "this is '%s', not a struct or union", T_OF(f, a->type));
        return check_poison(f, e);
    }
    if (through_pointer != e->is_arrow) {
        diag *d = diag_raise(f->diags, K2024, e->op_at.lo ? e->op_at : e->at,
                             e->is_arrow ? "'->' needs a pointer, this is '%s'"
                                         : "'.' needs a struct, this is the pointer '%s'",
                             T_OF(f, a->type));
        diag_label(d, a->at, "use '%s' here", e->is_arrow ? "." : "->");
        if (e->op_at.lo)
            diag_fix(d, e->op_at, "use the other operator", "%s", e->is_arrow ? "." : "->");
        return check_poison(f, e);
    }
    if (type_def(record)->is_incomplete) {
        if (type_def(record)->is_broken && f->diags->error_count)
            return check_poison(f, e); // it was said why
        diag *d = diag_raise(f->diags, K2036, member_name_at(e), "'%s' is declared but not defined",
                             T_OF(f, record->unqualified));
        diag_label(d, a->at, "its members are not known here");
        return check_poison(f, e);
    }
    uint64_t offset = 0;
    const field *member = type_find_field(record, e->name, &offset);
    if (!member && type_def(record)->is_broken && f->diags->error_count)
        return check_poison(f, e); // a member that was wrong
    if (!member)
        return no_such_member(f, e, record);
    e->a = a;
    e->field_offset = offset;
    e->bits = member->bits ? member : NULL;
    unsigned quals = record->quals & (QUAL_CONST | QUAL_VOLATILE);
    const type *t = type_of_member(f->in, record, member, offset);
    e->type = quals ? type_qualified(f->in, t, t->quals | quals) : t;
    e->is_lvalue = e->is_arrow || a->is_lvalue;
    e->is_checked = true;
    return e->type->kind == TY_POISON ? check_poison(f, e) : e;
}

// --- sizeof, _Alignof, _Generic

static ast_expr *check_sizeof(front *f, ast_expr *e)
{
    const type *t = e->cast_type;
    const char *word = e->kind == E_SIZEOF ? "sizeof" : "_Alignof";
    uint32_t align = 1; // of the object itself
    if (e->a) {
        f->unevaluated++;
        ast_expr *a = check_expr(f, e->a);
        f->unevaluated--;
        t = a->type;
        if (a->kind == E_MEMBER && a->bits) {
            diag *d = diag_raise(f->diags, K2037, e->at, "%s of a bit-field is not possible", word);
            diag_label(d, a->at, "it has bits, not bytes");
            diag_label(d, a->bits->at, "declared here");
            return check_poison(f, e);
        }
        if (a->kind == E_NAME && a->decl && a->decl->align)
            align = a->decl->align;
    }
    if (t->kind == TY_POISON)
        return check_poison(f, e);
    const type *def = t;
    while (def->kind == TY_ARRAY && !def->is_incomplete && e->kind == E_ALIGNOF)
        def = def->base;
    if (t->kind == TY_VOID || t->kind == TY_FUNC || type_def(def)->is_incomplete) {
        diag *d = diag_raise(f->diags, K2037, e->at, "%s needs a complete type", word);
        diag_label(d, e->at, "'%s' has no size here", T_OF(f, t));
        return check_poison(f, e);
    }
    align = type_align(t) > align ? type_align(t) : align;
    return constant(f, e, type_scalar(TY_U64), e->kind == E_SIZEOF ? type_size(t) : align);
}

const type *check_typeof(front *f, ast_expr *e)
{
    f->unevaluated++;
    e = check_expr(f, e);
    f->unevaluated--;
    if (e->kind != E_MEMBER || !e->bits)
        return type_natural(f->in, e->type);
    diag *d = diag_raise(f->diags, K1017, e->at, "typeof of a bit-field is not possible");
    diag_label(d, e->at, "it has bits, and no type of its own");
    diag_label(d, e->bits->at, "declared here");
    diag_note(d, "typeof(x.member + 0) is the type it has in an expression");
    return type_scalar(TY_POISON);
}

// Two arms for one type. Kiln's i8 and i64 are two types each in C: char and signed char, long and
// long long.
static void compare_arms(front *f, const struct generic_arm *arm)
{
    for (const struct generic_arm *other = arm->next; other; other = other->next) {
        const type *t = arm->type;
        bool is_double =
            t && (t->kind == TY_I8 || t->kind == TY_I64 || t->kind == TY_U64 || t->kind == TY_PTR);
        if (!t != !other->type || is_double || (t && !type_same(t, other->type, false)))
            continue;
        diag *d = diag_raise(f->diags, K2042, other->at, "two choices of this _Generic take %s",
                             t ? str_format(f->in, "'%s'", T_OF(f, t)) : "every other type");
        diag_label(d, other->at, "second one");
        diag_label(d, arm->at, "first one");
        return;
    }
}

// The arm that _Generic chooses, not yet checked; a poison after a mistake.
static ast_expr *choose_arm(front *f, ast_expr *e)
{
    f->unevaluated++;
    ast_expr *selector = check_rvalue(f, check_expr(f, e->a));
    f->unevaluated--;
    if (is_poison(selector))
        return check_poison(f, e);
    const type *t = selector->type->unqualified;
    struct generic_arm *chosen = NULL, *otherwise = NULL;
    for (struct generic_arm *arm = e->arms; arm; arm = arm->next) {
        compare_arms(f, arm);
        if (!arm->type)
            otherwise = arm;
        else if (!chosen && type_same(arm->type, t, false))
            chosen = arm;
    }
    if (!chosen)
        chosen = otherwise;
    if (!chosen) {
        diag *d = diag_raise(f->diags, K2038, e->at, "no choice for type '%s'", T_OF(f, t));
        diag_label(d, selector->at, "this is '%s'", T_OF(f, t));
        for (struct generic_arm *arm = e->arms; arm; arm = arm->next)
            diag_label(d, arm->at, "takes '%s'", T_OF(f, arm->type));
        diag_note(d, "add a choice for this type, or a 'default:'");
        return check_poison(f, e);
    }
    return chosen->value;
}

static ast_expr *check_generic(front *f, ast_expr *e)
{
    return check_expr(f, choose_arm(f, e));
}

ast_expr *check_callee(front *f, ast_expr *e)
{
    while (e->kind == E_GENERIC && !e->is_checked)
        e = choose_arm(f, e);
    // (*f)(x) and (&f)(x) are f(x)
    ast_expr *inner = e;
    while (inner->kind == E_UNARY && (inner->op == TOK_STAR || inner->op == TOK_AMP))
        inner = inner->a;
    bool is_function = inner->kind == E_NAME && inner->decl && inner->decl->kind == DECL_FUNC;
    return is_function ? inner : e;
}

static ast_expr *check_comma(front *f, ast_expr *e)
{
    e->a = check_discarded(f, e->a);
    e->b = check_rvalue(f, check_expr(f, e->b));
    if (is_poison(e->b) || is_poison(e->a))
        return check_poison(f, e);
    e->type = e->b->type;
    e->is_checked = true;
    return e;
}

// --- entry points

static ast_expr *dispatch(front *f, ast_expr *e)
{
    switch ((expr_kind)e->kind) {
    case E_POISON: return check_poison(f, e);
    case E_INT:
    case E_FLOAT: return check_literal(e);
    case E_STRING: return check_string(f, e);
    case E_NAME: return check_name(f, e);
    case E_UNARY: return check_unary(f, e);
    case E_INCDEC: return check_incdec(f, e);
    case E_BINARY: return check_binary(f, e);
    case E_ASSIGN: return check_assign(f, e);
    case E_COND: return check_conditional(f, e);
    case E_COMMA: return check_comma(f, e);
    case E_CALL: return check_call(f, e);
    case E_INDEX: return check_index(f, e);
    case E_MEMBER: return check_member(f, e);
    case E_CAST: return check_explicit_cast(f, e);
    case E_SIZEOF:
    case E_ALIGNOF: return check_sizeof(f, e);
    case E_COMPOUND: return check_compound(f, e);
    case E_GENERIC: return check_generic(f, e);
    case E_INIT_LIST: {
        diag *d = diag_raise(f->diags, K2104, e->at, "a list in braces is not a value");
        diag_label(d, e->at, "write '(type){…}' to make a value of a type");
        return check_poison(f, e);
    }
    case E_CONVERT:
    case E_STMT:
    case E_KIND_COUNT: break;
    }
    bug("expression kind %d", e->kind);
}

ast_expr *check_expr(front *f, ast_expr *e)
{
    if (e->is_checked)
        return e;
    e = dispatch(f, e); // as deep as the parser allows, no deeper
    return e;
}

ast_expr *check_rvalue(front *f, ast_expr *e)
{
    if (is_poison(e))
        return e;
    const type *t = e->type;
    if (t->kind == TY_ARRAY)
        return check_wrap(f, e, CONVERT_DECAY, type_pointer(f->in, t->base));
    if (t->kind == TY_FUNC)
        return check_function_value(f, e);
    const field *bits = check_bits_field(e);
    if (!e->is_lvalue)
        return bits ? check_force(f, e, check_bits_type(bits)) : e;
    if (t->kind == TY_VOID)
        return e;
    if (check_map_value(f, t, e->at, "read"))
        return check_poison(f, e);
    if (type_def(t)->is_incomplete) {
        diag *d =
            diag_raise(f->diags, K2036, e->at, "'%s' is declared but not defined", T_OF(f, t));
        diag_label(d, e->at, "its size is not known here");
        return check_poison(f, e);
    }
    ast_expr *value = check_wrap(f, e, CONVERT_LOAD, t->unqualified);
    return bits ? check_force(f, value, check_bits_type(bits)) : value;
}

ast_expr *check_lvalue_or_value(front *f, ast_expr *e)
{
    return check_expr(f, e);
}

ast_expr *check_value(front *f, ast_expr *e)
{
    return check_rvalue(f, check_expr(f, e));
}

ast_expr *check_condition(front *f, ast_expr *e)
{
    bool suspicious = e->kind == E_ASSIGN && e->op == TOK_ASSIGN && !e->is_parenthesised;
    if (e->kind == E_STRING) // assert(n > 0 && "n is a count"): a literal is never null
        return check_int(f, e->at, type_scalar(TY_BOOL), 1);
    e = check_expr(f, e);
    suspicious &= e->kind == E_ASSIGN;
    e = check_rvalue(f, e);
    if (is_poison(e))
        return e;
    if (e->type->kind == TY_VOID) {
        check_no_value(f, e, "a condition is wanted here");
        return check_poison(f, e);
    }
    if (suspicious) {
        diag *d = diag_raise(f->diags, K2206, e->at, "this condition assigns");
        diag_label(d, e->op_at,
                   "'=' stores, '==' compares; put parentheses around it if it is meant");
        diag_fix(d, e->op_at, "compare", "==");
    }
    e = check_to_bool(f, e);
    const_value v;
    if (e->is_const && const_eval(f, e, &v)) // so that lowering can skip the branch not taken
        return check_int(f, e->at, type_scalar(TY_BOOL), v.integer != 0);
    return e;
}

static bool is_pure(const ast_expr *e)
{
    return !check_has_effects(e) && e->type->kind != TY_VOID;
}

ast_expr *check_discarded(front *f, ast_expr *e)
{
    check_discard(e);
    e = check_value(f, e);
    if (is_poison(e) || f->unevaluated)
        return e;
    if (is_pure(e)) {
        diag *d = diag_raise(f->diags, K2205, e->at, "the result of this expression is not used");
        diag_label(d, e->at, "it has no other effect");
        if (e->kind == E_BINARY && e->op == TOK_EQ)
            diag_fix(d, e->op_at, "assign", "=");
    }
    return e;
}

// The first variable of an expression of operators.
static const ast_decl *find_variable(const ast_expr *e)
{
    if (!e)
        return NULL;
    if (e->kind == E_NAME)
        return e->decl && e->decl->kind == DECL_VAR ? e->decl : NULL;
    if (e->kind != E_CONVERT && e->kind != E_UNARY && e->kind != E_BINARY && e->kind != E_CAST)
        return NULL;
    const ast_decl *found = find_variable(e->a);
    return found ? found : e->kind == E_BINARY ? find_variable(e->b) : NULL;
}

bool check_tell_variable(front *f, diag *d, const ast_expr *e)
{
    const ast_decl *found = find_variable(e);
    const_value value;
    if (!found)
        return false;
    diag_label(d, found->at, "a variable, even a const one, is not a constant in C");
    bool is_known = found->type->quals & QUAL_CONST && found->init &&
                    type_is_integer(found->type) && const_eval(f, found->init, &value);
    if (is_known)
        diag_note(d, "make it a constant: enum { %s = %lld };", found->name,
                  (long long)value.integer);
    else
        diag_note(d, "use an enum constant, a macro or tune(%s, …)", found->name);
    return is_known;
}

bool check_const_int(front *f, ast_expr *e, int64_t *value, const char *what)
{
    *value = 0;
    e = check_value(f, e);
    if (is_poison(e))
        return false;
    const_value v;
    if (!type_is_integer(e->type) || !e->is_const || !const_eval(f, e, &v)) {
        diag *d = diag_raise(f->diags, K2039, e->at, "%s must be an integer constant",
                             what ? what : "this");
        diag_label(d, e->at,
                   type_is_integer(e->type) ? "this is only known when the kernel runs"
                                            : "this is not an integer");
        check_tell_variable(f, d, e);
        return false;
    }
    *value = (int64_t)v.integer;
    return true;
}

void check_static_assert(front *f, ast_expr *condition, ast_expr *message, span at)
{
    ast_expr *e = check_condition(f, condition);
    if (is_poison(e))
        return;
    if (e->kind != E_INT) {
        diag *d = diag_raise(f->diags, K2039, e->at, "static_assert needs a constant");
        diag_label(d, e->at, "this is only known when the kernel runs");
        return;
    }
    if (e->integer)
        return;
    bool has_text = message && message->kind == E_STRING;
    diag *d = has_text ? diag_raise(f->diags, K2040, at, "static assertion failed: %.*s",
                                    (int)message->bytes.len, message->bytes.at)
                       : diag_raise(f->diags, K2040, at, "static assertion failed");
    diag_label(d, e->at, "this is false");
}

ast_expr *check_switch_value(front *f, ast_expr *e)
{
    e = check_value(f, e);
    if (is_poison(e))
        return e;
    if (!type_is_integer(e->type)) {
        diag *d = diag_raise(f->diags, K2041, e->at, "switch needs an integer, this is '%s'",
                             T_OF(f, e->type));
        diag_label(d, e->at, "this is '%s'", T_OF(f, e->type));
        return check_poison(f, e);
    }
    return check_promote(f, e);
}
