// Variables that live as long as a kernel: tables of constants, whose bytes are part of the code,
// and variables that each thread has (those of lib/libc, tables that hold addresses, and all of a
// program under #pragma kiln variables(thread)), which get their values when the kernel starts.
// Start reading at check_static_init.
#include "front/check.h"

// --- what is known when compiling

static bool is_known_place(front *f, const ast_expr *e);
static const ast_expr *first_variable_part(front *f, const ast_expr *e, bool *has_addresses);

static bool is_known_number(front *f, const ast_expr *e)
{
    const_value v;
    return const_eval_static(f, e, &v);
}

// A pointer to what lives as long as the kernel.
static bool is_known_address(front *f, const ast_expr *e)
{
    if (e->kind == E_CONVERT && e->convert == CONVERT_DECAY)
        return is_known_place(f, e->a);
    if (is_pointer(e->type) && check_is_null_pointer(f, e))
        return true;
    if (e->kind == E_CONVERT || e->kind == E_CAST)
        return is_pointer(e->type) && e->a->type &&
               (is_pointer(e->a->type) ? is_known_address(f, e->a) : is_known_number(f, e->a));
    if (e->kind == E_UNARY && e->op == TOK_AMP)
        return is_known_place(f, e->a);
    if (e->kind == E_BINARY && (e->op == TOK_PLUS || e->op == TOK_MINUS))
        return (is_known_address(f, e->a) && is_known_number(f, e->b)) ||
               (e->op == TOK_PLUS && is_known_number(f, e->a) && is_known_address(f, e->b));
    return false;
}

static bool is_known_place(front *f, const ast_expr *e)
{
    bool has_addresses;
    switch (e->kind) {
    case E_STRING: return true;
    case E_COMPOUND: // outside of functions it lives as long as a variable there
        return !f->current_func && !first_variable_part(f, e, &has_addresses);
    case E_NAME: return e->decl && (e->decl->is_const_data || e->decl->is_per_thread);
    case E_MEMBER: return e->is_arrow ? is_known_address(f, e->a) : is_known_place(f, e->a);
    case E_INDEX: return is_known_address(f, e->a) && is_known_number(f, e->b);
    case E_UNARY: return e->op == TOK_STAR && is_known_address(f, e->a);
    default: return false;
    }
}

// The first part of an initialiser that is not known when compiling. Addresses are known, but are
// no bytes that a table could hold: `has_addresses` tells.
static const ast_expr *first_variable_part(front *f, const ast_expr *e, bool *has_addresses)
{
    const ast_expr *core = e;
    while (core->kind == E_CONVERT &&
           (core->convert == CONVERT_NOOP || core->convert == CONVERT_LOAD))
        core = core->a;
    if (core->kind == E_COMPOUND)
        core = core->a;
    if (core->kind == E_STRING)
        return NULL;
    if (core->kind != E_INIT_LIST) {
        if (is_known_number(f, e))
            return NULL;
        if (!is_known_address(f, core))
            return e;
        *has_addresses = true;
        return NULL;
    }
    for (uint32_t i = 0; i < core->inits.len; i++) {
        const ast_expr *found = first_variable_part(f, core->inits.at[i].value, has_addresses);
        if (found)
            return found;
    }
    return NULL;
}

static void require_known(front *f, ast_decl *d, bool is_const)
{
    bool has_addresses = false;
    const ast_expr *bad =
        is_poison(d->init) ? NULL : first_variable_part(f, d->init, &has_addresses);
    if (!bad) {
        d->is_const_data = is_const && !has_addresses;
        d->is_per_thread = !d->is_const_data;
        return;
    }
    diag *report =
        diag_raise(f->diags, K2106, bad->at, "'%s' is %s: its values must be known when compiling",
                   d->name, is_const ? "constant data" : "set when the kernel starts");
    diag_label(report, bad->at, "this is not a constant");
    diag_label(report, d->at, "declared here");
    d->type = type_scalar(TY_POISON);
}

void check_static_init(front *f, ast_decl *d, ast_expr *init, bool is_const)
{
    if (!d->is_file_scope) {
        check_init_object(f, d, init);
        require_known(f, d, is_const);
        return;
    }
    if (!is_const && !d->is_per_thread) {
        d->is_host_only = true;
        return;
    }
    // Host code may have tables that Kiln does not understand: what is wrong with them matters only
    // when a kernel uses them.
    diags *ds = f->diags;
    uint32_t len = ds->list.len, errors = ds->error_count, warnings = ds->warning_count;
    check_init_object(f, d, init);
    require_known(f, d, is_const);
    if (ds->error_count == errors && !is_poison(d->init))
        return;
    d->is_host_only = true;
    d->is_const_data = d->is_per_thread = false;
    if (ds->list.len > len) {
        for (uint32_t i = len; i < ds->list.len && !d->held; i++)
            if (ds->list.at[i]->level == DIAG_ERROR)
                d->held = ds->list.at[i];
        ds->list.len = len;
        ds->error_count = errors;
        ds->warning_count = warnings;
    }
}

// --- variables that each thread has

// Bytes of the compound literals of an initialiser: each thread has them beside the variable.
static uint64_t literal_bytes(const ast_expr *e)
{
    if (!e || (e->is_const && e->kind != E_COMPOUND))
        return 0;
    uint64_t bytes = e->kind == E_COMPOUND ? type_size(e->type) : 0;
    for (uint32_t i = 0; i < e->inits.len; i++)
        bytes += literal_bytes(e->inits.at[i].value);
    return bytes + literal_bytes(e->a) + literal_bytes(e->b);
}

void check_per_thread(front *f, ast_decl *d, span use)
{
    check_functions_of(f, d, use);
    for (uint32_t i = 0; i < f->thread_vars.len; i++)
        if (f->thread_vars.at[i] == d)
            return;
    vec_push(f->in, &f->thread_vars, d);
    uint64_t size = type_def(d->type)->size + literal_bytes(d->init), bytes = f->thread_bytes;
    f->thread_bytes += size;
    if (bytes <= MAX_THREAD_BYTES && bytes + size > MAX_THREAD_BYTES) {
        diag *report = diag_raise(f->diags, K4002, d->at, "'%s' needs %llu bytes in every thread",
                                  d->name, (unsigned long long)size);
        diag_label(report, d->at, "a thread may have at most 1 MiB; use malloc of <stdlib.h>");
    }
}
