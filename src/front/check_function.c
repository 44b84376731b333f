// Functions as values: a name that is not called is the function's address, *f is f again, and a
// call may go through a pointer.
//
// A pointer to a function is a 64-bit number, function_token of its declaration, on every device;
// only functions whose address is taken have one. A call through a pointer chooses among those of
// its type (lower_call.c), so a stray pointer is a fault and no jump into the blue.
// Start reading at check_function_value and check_pointer_call.
#include "front/check.h"

// Gives `decl` its number; device code may call it from now on.
static void take(front *f, ast_decl *decl, span use)
{
    if (!decl->function_number) {
        vec_push(f->in, &f->taken, decl);
        decl->function_number = f->taken.len;
    }
    if (!f->current_func)
        return; // a table of the file: its functions matter when device code uses it
    if (decl->is_host_only) {
        diag *d = diag_raise(f->diags, K2030, use, "'%s' is a function of the host", decl->name);
        diag_label(d, use, "a kernel may reach it through this");
        diag_label(d, decl->at, "declared here");
        return;
    }
    decl->is_reachable = true;
    parse_need_func(f, decl, use);
}

ast_expr *check_function_name(front *f, ast_expr *e)
{
    ast_decl *decl = e->decl;
    if (decl->is_kernel) {
        diag *d = diag_raise(f->diags, K2033, e->at, "'%s' is a kernel: only the host launches it",
                             decl->name);
        diag_label(d, e->at, "its address is taken here");
        diag_label(d, decl->at, "declared as a kernel here");
        return check_poison(f, e);
    }
    e->type = decl->type;
    e->is_checked = true;
    e->is_lvalue = false;
    if (decl->type->kind == TY_POISON)
        return check_poison(f, e);
    take(f, decl, e->at);
    return e;
}

ast_expr *check_function_value(front *f, ast_expr *e)
{
    if (e->kind == E_UNARY && e->op == TOK_STAR)
        return e->a; // of a pointer
    ast_expr *value = check_wrap(f, e, CONVERT_DECAY, type_pointer(f->in, e->type));
    value->is_const = e->kind == E_NAME;
    return value;
}

// The functions in the initialiser of a constant.
static void need_all(front *f, const ast_expr *e, span use)
{
    if (!e)
        return;
    if (e->kind == E_NAME && e->decl && e->decl->kind == DECL_FUNC)
        take(f, e->decl, use);
    if (e->kind == E_NAME && e->decl && (e->decl->is_const_data || e->decl->is_per_thread))
        check_functions_of(f, e->decl, use);
    for (uint32_t i = 0; e->kind == E_INIT_LIST && i < e->inits.len; i++)
        need_all(f, e->inits.at[i].value, use);
    need_all(f, e->a, use);
    need_all(f, e->b, use);
    need_all(f, e->c, use);
}

void check_functions_of(front *f, ast_decl *table, span use)
{
    if (table->has_needed || !f->current_func || f->unevaluated)
        return;
    table->has_needed = true;
    need_all(f, table->init, use);
}

bool check_is_null_pointer(front *f, const ast_expr *e)
{
    while (e->kind == E_CONVERT && is_pointer(e->type) && is_pointer(e->a->type))
        e = e->a;
    if (e->kind == E_CONVERT && e->convert == CONVERT_INT_PTR)
        e = e->a;
    return check_is_null(f, e);
}

// Only the null pointer is both.
bool check_mixes_functions(front *f, const type *from, const type *to, span at)
{
    if (is_function_pointer(from) == is_function_pointer(to))
        return false;
    bool is_from = is_function_pointer(from);
    diag *d = diag_raise(f->diags, K2030, at, "a pointer to a function %s '%s'",
                         is_from ? "does not become" : "is not made from",
                         T_OF(f, is_from ? to->unqualified : from->unqualified));
    diag_label(d, at, "this is '%s'", T_OF(f, from->unqualified));
    diag_note(d, "its bits mean nothing outside the kernel file: keep it as a pointer to a "
                 "function, or keep an index into a table of functions");
    return true;
}

ast_expr *check_pointer_call(front *f, ast_expr *e, ast_expr *callee)
{
    const type *t = callee->type->base;
    e->a = callee;
    e->is_checked = true;
    if (t->kind == TY_POISON || t->base->kind == TY_POISON)
        return check_poison(f, e);
    e->type = t->base->unqualified;
    if (t->is_variadic) {
        diag *d = diag_raise(f->diags, K1034, callee->at,
                             "a function with a variable number of arguments is called by name");
        diag_label(d, callee->at, "this is '%s'", T_OF(f, callee->type));
        return check_poison(f, e);
    }
    if (e->type->kind != TY_VOID && type_is_incomplete(e->type)) {
        diag *d = diag_raise(f->diags, K2036, callee->at, "'%s' is declared but not defined",
                             T_OF(f, e->type));
        diag_label(d, callee->at, "the function returns it");
        return check_poison(f, e);
    }
    if (e->args.len != t->params.len) {
        diag *d = diag_raise(f->diags, K2027, e->at, "'%s' takes %u argument%s, not %u",
                             T_OF(f, callee->type), t->params.len, t->params.len == 1 ? "" : "s",
                             e->args.len);
        diag_label(d, callee->at, "called here");
        return check_poison(f, e);
    }
    bool is_bad = false;
    for (uint32_t i = 0; i < e->args.len; i++) {
        e->args.at[i] = check_convert(f, e->args.at[i], t->params.at[i],
                                      str_format(f->in, "argument %u of the call", i + 1));
        is_bad |= is_poison(e->args.at[i]);
    }
    return is_bad ? check_poison(f, e) : e;
}
