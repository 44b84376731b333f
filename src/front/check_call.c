// Calls: a name followed by arguments becomes a call of a device function (callee_decl) or of a
// builtin (builtin, builtin_type; a library builtin has callee_decl too). Everything else is an
// error here, but for calls through pointers (check_function.c).
// Start reading at check_call.
#include "front/check.h"

static void check_args(front *f, ast_expr *e)
{
    for (uint32_t i = 0; i < e->args.len; i++)
        e->args.at[i] = check_rvalue(f, check_expr(f, e->args.at[i]));
}

static ast_expr *unknown_function(front *f, ast_expr *e)
{
    const char *name = e->a->name;
    const foreign_name *foreign = foreign_find(name);
    const char *advice = foreign ? foreign_text(f, foreign, e, NULL) : NULL;
    const char *absent = foreign ? NULL : absent_find(f, name);
    const char *near = foreign || absent ? NULL : front_suggest(f, e->a->scope, name);
    check_args(f, e); // mistakes inside the arguments are mistakes of their own
    diag *d = diag_raise(f->diags, K2002, e->a->at, "there is no function '%s'", name);
    if (foreign) {
        diag_label(d, e->a->at, "Kiln spells it '%s'", advice ? advice : foreign->advice);
        if (advice)
            diag_fix(d, e->at, "use Kiln's name", "%s", advice);
    } else if (absent) {
        bool is_cuda =
            !strncmp(name, "cu", 2) || !strncmp(name, "tex", 3) || !strncmp(name, "surf", 4);
        diag_label(d, e->a->at, "%s",
                   strstr(absent, "brings it") ? "its header is not included"
                   : is_cuda                   ? "a function of CUDA's libraries"
                                               : "C's library is the host's");
        diag_note(d, "%s", absent);
    } else if (near) {
        diag_label(d, e->a->at, "did you mean '%s'?", near);
        diag_fix(d, e->a->at, "use the known name", "%s", near);
    } else {
        diag_label(d, e->a->at, "neither a builtin nor a function of this file");
        diag_note(d, "%s",
                  !strncmp(name, "__", 2)
                      ? "of compilers' own functions there are the commoner ones of CUDA, in "
                        "<kiln/cuda.h>, and of GNU"
                      : "functions must be declared before they are called");
    }
    return check_poison(f, e);
}

// --- builtins

static ast_expr *check_library_call(front *f, ast_expr *e, const builtin *b)
{
    const char *name = e->builtin_type ? str_format(f->in, "k_%s_%s", b->name,
                                                    T_OF(f, e->builtin_type->unqualified))
                                       : str_format(f->in, "k_%s", b->name);
    const char *lib = b->lib, *star = strchr(lib, '*'); // one text per type
    if (star)
        lib = str_format(f->in, "%.*s%s%s", (int)(star - lib), lib,
                         T_OF(f, e->builtin_type->unqualified), star + 1);
    ast_decl *callee = parse_library_func(f, lib, name_cstr(f->names, name));
    if (!callee)
        bug("the library text %s has no function %s", lib, name);
    callee->is_used = true;
    parse_need_func(f, callee, e->at);
    e->callee_decl = callee;
    return e;
}

static ast_expr *check_builtin_call(front *f, ast_expr *e, const builtin *b, const type *fixed)
{
    e->builtin = b;
    if (b->id == BI_printf)
        return check_printf(f, e);
    if ((b->id == BI_assert || b->id == BI_assume) && e->args.len == 1) {
        e->args.at[0] = check_condition(f, e->args.at[0]);
        if (is_poison(e->args.at[0]))
            return check_poison(f, e);
        e->type = type_scalar(TY_VOID);
        e->is_checked = true;
        return e;
    }
    if (b->kind == BK_MATRIX)
        return check_matrix_call(f, e, b);
    check_args(f, e);
    if (!check_builtin_args(f, e, b, fixed))
        return check_poison(f, e);
    e->is_checked = true;
    const_value v;
    if (b->kind == BK_CONST) {
        const type *t = e->type;
        e->is_const = true;
        if (!const_eval(f, e, &v))
            bug("%s is not evaluated", b->name);
        return check_int(f, e->at, t, v.integer);
    }
    if (b->kind == BK_LIB && !f->unevaluated)
        return check_library_call(f, e, b);
    return e;
}

// --- functions of the file

// An argument that '...' stands for gets C's default promotions.
static ast_expr *check_rest_arg(front *f, ast_expr *arg, const ast_decl *decl)
{
    if (is_poison(arg))
        return arg;
    if (type_is_integer(arg->type))
        return check_promote(f, arg);
    if (arg->type->kind == TY_F32)
        return check_force(f, arg, type_scalar(TY_F64));
    if (arg->type->kind == TY_F64 || (is_pointer(arg->type) && !is_function_pointer(arg->type)))
        return arg;
    diag *d = diag_raise(f->diags, K1034, arg->at, "'...' of '%s' does not take '%s'", decl->name,
                         T_OF(f, arg->type->unqualified));
    diag_label(d, arg->at, "numbers and pointers to data travel so");
    if (type_is_storage_float(arg->type))
        check_fix_around(f, d, arg, "widen it", "f32(", ")");
    else
        diag_note(d, "pass its address");
    return check_poison(f, arg);
}

static ast_expr *check_func_args(front *f, ast_expr *e, const ast_decl *decl)
{
    const type *t = decl->type;
    uint32_t wanted = t->params.len;
    bool is_more = t->is_variadic && e->args.len > wanted;
    if (e->args.len != wanted && !is_more &&
        !(t->has_no_prototype && !wanted && !decl->body_first)) {
        span at = e->args.len > wanted ? e->args.at[wanted]->at : e->at;
        diag *d = diag_raise(f->diags, K2027, at, "'%s' takes %u argument%s, not %u", decl->name,
                             wanted, wanted == 1 ? "" : "s", e->args.len);
        diag_label(d, at, "%s",
                   e->args.len > wanted ? "the first one too many" : "arguments are missing");
        diag_label(d, decl->at, "declared here");
        return check_poison(f, e);
    }
    bool is_bad = false;
    for (uint32_t i = 0; i < wanted; i++) {
        e->args.at[i] = check_convert(f, e->args.at[i], t->params.at[i],
                                      str_format(f->in, "argument %u of '%s'", i + 1, decl->name));
        is_bad |= is_poison(e->args.at[i]);
    }
    for (uint32_t i = wanted; i < e->args.len && is_more; i++) {
        e->args.at[i] = check_rest_arg(f, e->args.at[i], decl);
        is_bad |= is_poison(e->args.at[i]);
    }
    return is_bad ? check_poison(f, e) : e;
}

static ast_expr *check_func_call(front *f, ast_expr *e, ast_decl *decl)
{
    check_args(f, e);
    diag *d;
    if (decl->type->kind == TY_POISON)
        return check_poison(f, e);
    if (decl->is_kernel) {
        d = diag_raise(f->diags, K2033, e->at, "'%s' is a kernel: only the host launches it",
                       decl->name);
        diag_label(d, e->at, "called here");
        diag_label(d, decl->at, "declared as a kernel here");
        diag_note(d, "move the common part into a static function that both call");
        return check_poison(f, e);
    }
    if (decl->is_host && !check_host_decl(f, decl))
        return check_poison(f, e);
    decl->is_used = true;
    e->type = decl->type->base->unqualified;
    e->callee_decl = decl;
    e->is_checked = true;
    span use = e->at;
    e = check_func_args(f, e, decl);
    if (!f->unevaluated &&
        !decl->is_host) // also after a wrong argument: the callee's mistakes are its own
        parse_need_func(f, decl, use);
    if (is_poison(e) || f->unevaluated)
        return e;
    return e->type->kind == TY_POISON ? check_poison(f, e) : e;
}

ast_expr *check_call(front *f, ast_expr *e)
{
    ast_expr *callee = e->a = check_callee(f, e->a);
    if (callee->kind == E_NAME && !callee->decl) {
        ast_expr *gnu = check_gnu_call(f, e);
        if (gnu)
            return gnu;
    }
    if (callee->kind == E_NAME && !callee->decl) {
        const type *fixed;
        const builtin *b = builtin_find(callee->name, &fixed);
        ast_decl *laid_out = b && b->id == BI_printf && check_printf_is_text(e)
                                 ? scope_find(f->file_scope, name_cstr(f->names, "__k_printf"))
                                 : NULL;
        if (laid_out && laid_out->kind == DECL_FUNC)
            return check_func_call(f, e, laid_out);
        return b ? check_builtin_call(f, e, b, fixed) : unknown_function(f, e);
    }
    if (callee->kind == E_NAME && callee->decl->kind == DECL_FUNC)
        return check_func_call(f, e, callee->decl);
    callee = check_rvalue(f, check_expr(f, callee));
    check_args(f, e);
    if (is_poison(callee))
        return check_poison(f, e);
    if (is_function_pointer(callee->type))
        return check_pointer_call(f, e, callee);
    diag *d =
        diag_raise(f->diags, K2026, callee->at, "'%s' is not a function", T_OF(f, callee->type));
    diag_label(d, callee->at, "called here");
    if (callee->kind == E_CONVERT && callee->a->kind == E_NAME)
        diag_label(d, callee->a->decl->at, "declared here as '%s'", T_OF(f, callee->a->type));
    return check_poison(f, e);
}
