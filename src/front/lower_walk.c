// Questions about checked bodies that flags on declarations do not answer: can something else
// change this record while a function works on it? Start at lower_keeps_in_place.
#include "front/check.h"
#include "front/lower.h"

static bool expr_escapes(const ast_expr *e, const ast_decl *d);

static ast_decl *root_of(const ast_expr *e)
{
    while (e->kind == E_MEMBER || e->kind == E_INDEX || e->kind == E_CONVERT) {
        if (e->is_arrow || (e->kind == E_CONVERT && e->convert == CONVERT_LOAD))
            return NULL; // behind a pointer
        e = e->a;
    }
    return e->kind == E_NAME ? e->decl : NULL;
}

static bool is_decay(const ast_expr *e)
{
    return e->kind == E_CONVERT && e->convert == CONVERT_DECAY;
}

static bool children_escape(const ast_expr *e, const ast_decl *d)
{
    if (e->kind == E_INIT_LIST) {
        for (uint32_t i = 0; i < e->inits.len; i++) {
            if (expr_escapes(e->inits.at[i].value, d))
                return true;
        }
        return false;
    }
    if (e->kind == E_STMT)
        return lower_array_escapes(e->block, d);
    for (uint32_t i = 0; i < e->args.len; i++) {
        if (expr_escapes(e->args.at[i], d))
            return true;
    }
    if (e->kind == E_CALL && (e->callee_decl || e->builtin))
        return false;
    return expr_escapes(e->a, d) || expr_escapes(e->b, d) || expr_escapes(e->c, d);
}

static bool expr_escapes(const ast_expr *e, const ast_decl *d)
{
    if (!e)
        return false;
    if (is_decay(e) && root_of(e->a) == d)
        return true;
    if (e->kind == E_INDEX && is_decay(e->a)) // indexed on the spot
        return expr_escapes(e->a->a, d) || expr_escapes(e->b, d);
    return children_escape(e, d);
}

bool lower_array_escapes(const ast_stmt *s, const ast_decl *d)
{
    for (; s; s = s->no) {
        for (uint32_t i = 0; i < s->body.len; i++) {
            if (lower_array_escapes(s->body.at[i], d))
                return true;
        }
        for (uint32_t i = 0; i < s->decls.len; i++) {
            if (expr_escapes(s->decls.at[i]->init, d))
                return true;
        }
        if (expr_escapes(s->expr, d) || expr_escapes(s->step, d) ||
            lower_array_escapes(s->init, d) || lower_array_escapes(s->yes, d))
            return true;
    }
    return false;
}

// True when no pointer to `d` exists; remembered in lower_index, which variables do not need.
static bool is_private(ast_decl *d, const ast_stmt *body)
{
    enum { UNKNOWN, YES, NO };
    if (d->lower_index == UNKNOWN)
        d->lower_index = d->is_address_taken || lower_array_escapes(body, d) ? NO : YES;
    return d->lower_index == YES;
}

bool lower_keeps_in_place(const lower *l, const ast_expr *call, uint32_t n)
{
    ast_decl *param = call->callee_decl->params.at[n];
    const ast_expr *e = call->args.at[n];
    if (param->is_assigned || !is_private(param, call->callee_decl->body))
        return false;
    for (uint32_t i = n + 1; i < call->args.len; i++) {
        if (check_has_effects(call->args.at[i]))
            return false;
    }
    while (e->kind == E_CONVERT && (e->convert == CONVERT_LOAD || e->convert == CONVERT_NOOP))
        e = e->a;
    ast_decl *d = root_of(e);
    if (!d || !e->is_lvalue || e->type->is_low || (e->type->quals & QUAL_VOLATILE) ||
        d->is_shared || d->is_per_thread)
        return false;
    return d->is_const_data || is_private(d, l->decl->body);
}
