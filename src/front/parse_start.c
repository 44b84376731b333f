// What runs before and after a program: functions with __attribute__((constructor)) or destructor,
// and __k_when_named, by which lib/libc leaves out what a file does not use.
// Where each thread has the variables of the file (#pragma kiln variables(thread)), it calls the
// constructors when a kernel starts, and registers the destructors with atexit. Elsewhere such
// functions are host code: they can set nothing that a kernel sees.
// Start reading at start_note.
#include "front/check.h"
#include "front/parse.h"

#include <stdlib.h>

enum { LAST_PRIORITY = 65535 };

uint32_t *start_slot(parser *p)
{
    if (kind(p) != TOK_IDENT)
        return NULL;
    const char *name = tok(p)->name;
    bool before = !strcmp(name, "constructor") || !strcmp(name, "__constructor__");
    bool after = !strcmp(name, "destructor") || !strcmp(name, "__destructor__");
    if (!before && !after)
        return NULL;
    uint32_t *slot = before ? &p->start.constructs : &p->start.destructs;
    p->start.at = here(p);
    *slot = LAST_PRIORITY + 2; // without a priority: after all that have one
    return slot;
}

void start_priority(parser *p, uint32_t *slot)
{
    int64_t value = 0;
    if (kind(p) == TOK_RPAREN)
        return;
    ast_expr *e = parse_cond(p);
    if (p->is_panicking || !check_const_int(p->f, e, &value, "priority"))
        return;
    if (value >= 0 && value <= LAST_PRIORITY) {
        *slot = (uint32_t)value + 1;
        return;
    }
    diag *d = diag_raise(p->f->diags, K1053, e->at, "%lld is not a priority", (long long)value);
    diag_label(d, e->at, "from 0 to %d is possible", LAST_PRIORITY);
}

void start_note(parser *p, ast_decl *fn, start_mark m)
{
    if (!m.at.lo || !p->f->has_thread_variables || p->is_library)
        return;
    p->insists = true; // skipped as host code it would be missing without a word
    if (!fn->constructs && !fn->destructs)
        vec_push(p->f->in, &p->f->starts, fn);
    fn->constructs = m.constructs ? m.constructs : fn->constructs;
    fn->destructs = m.destructs ? m.destructs : fn->destructs;
    if (!fn->type->params.len && !fn->type->is_variadic)
        return;
    fn->constructs = fn->destructs = 0;
    diag *d = diag_raise(p->f->diags, K1053, m.at, "'%s' is called without arguments", fn->name);
    diag_label(d, m.at, "when the program starts or ends");
    diag_label(d, fn->at, "but it has parameters");
    diag_note(d, "read argc and argv in main");
}

static int compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int by_construction(const void *a, const void *b)
{
    const ast_decl *x = *(ast_decl *const *)a, *y = *(ast_decl *const *)b;
    int order = compare(x->constructs, y->constructs);
    return order ? order : compare(x->body_order, y->body_order);
}

static int by_destruction(const void *a, const void *b) // registered first: called last
{
    const ast_decl *x = *(ast_decl *const *)a, *y = *(ast_decl *const *)b;
    int order = compare(x->destructs, y->destructs);
    return order ? order : compare(x->body_order, y->body_order);
}

static ast_expr *use_of(front *f, ast_decl *fn, span at)
{
    ast_expr *e = arena_new_of(f->in, ast_expr);
    e->kind = E_NAME;
    e->at = at;
    e->height = 1;
    e->name = fn->name;
    e->decl = fn;
    e->scope = f->file_scope;
    return e;
}

// fn(); or, with `wanted`, wanted(fn);
static ast_stmt *call_of(front *f, ast_decl *fn, ast_decl *wanted)
{
    ast_expr *e = arena_new_of(f->in, ast_expr);
    e->kind = E_CALL;
    e->at = fn->at;
    e->height = 2;
    e->a = use_of(f, wanted ? wanted : fn, fn->at);
    if (wanted)
        vec_push(f->in, &e->args, use_of(f, fn, fn->at));
    ast_stmt *s = arena_new_of(f->in, ast_stmt);
    s->kind = S_EXPR;
    s->at = fn->at;
    s->expr = check_discarded(f, e);
    return s;
}

static ast_decl *find_atexit(front *f, const ast_decl *fn)
{
    ast_decl *d = scope_find(f->file_scope, name_cstr(f->names, "atexit"));
    if (d && d->kind == DECL_FUNC && d->body_first)
        return d;
    diag *e = diag_raise(f->diags, K1053, fn->at, "the destructor '%s' is never called", fn->name);
    diag_label(e, fn->at, "exit() of <stdlib.h> calls it");
    diag_note(e, "'#include <stdlib.h>' brings atexit, which registers it");
    return NULL;
}

void start_calls(front *f, ast_decl *kernel)
{
    uint32_t count = f->starts.len;
    ast_stmt *block = arena_new_of(f->in, ast_stmt);
    if (!count)
        return;
    ast_decl **all = arena_array(f->in, ast_decl *, count);
    memcpy(all, f->starts.at, count * sizeof *all);
    block->kind = S_BLOCK;
    block->at = kernel->body->at;
    qsort(all, count, sizeof *all, by_destruction);
    for (uint32_t i = 0; i < count; i++) {
        ast_decl *wanted = all[i]->destructs && all[i]->body_first ? find_atexit(f, all[i]) : NULL;
        if (wanted)
            vec_push(f->in, &block->body, call_of(f, all[i], wanted));
    }
    qsort(all, count, sizeof *all, by_construction);
    for (uint32_t i = 0; i < count; i++)
        if (all[i]->constructs && all[i]->body_first)
            vec_push(f->in, &block->body, call_of(f, all[i], NULL));
    vec_push(f->in, &block->body, kernel->body);
    kernel->body = block;
}

// --- what a file uses

static bool is_named(front *f, const char *name)
{
    for (uint32_t i = 0; i < f->starts.len; i++)
        if (f->starts.at[i]->destructs && !strcmp(name, "atexit"))
            return true;
    for (uint32_t i = 0; i < f->tokens.len; i++) {
        const token *t = &f->tokens.at[i];
        if (t->kind != TOK_IDENT || t->name != name)
            continue;
        const source_file *file = source_file_at(f->sources, t->at.lo);
        if (!file || !file->is_builtin)
            return true;
    }
    return false;
}

// The statement behind it is there when the file uses that function of C's library: calls through
// pointers, say, which cost much, where there is nothing to call.
ast_stmt *parse_when_named(parser *p)
{
    ast_stmt *s = arena_new_of(p->f->in, ast_stmt);
    s->kind = S_EMPTY;
    s->at = here(p);
    step(p);
    expect(p, TOK_LPAREN, NULL);
    const char *name = tok(p)->kind == TOK_IDENT ? tok(p)->name : "";
    step(p);
    expect(p, TOK_RPAREN, NULL);
    uint32_t open = p->at;
    if (p->is_panicking || kind(p) != TOK_LBRACE || is_named(p->f, name))
        return kind(p) == TOK_LBRACE ? parse_block(p, true) : s;
    step(p);
    skip_to_close(p, open);
    accept(p, TOK_RBRACE);
    return s;
}
