// Finds reads of variables that provably were never set: one walk over a checked body in evaluation
// order with a bit per unset variable. A bit is cleared where the variable is set on any path, so a
// warning is never a guess; what is only conditional inside a loop is left alone, because an
// earlier round may have set it.
// Start reading at check_unset.
#include "front/check.h"

enum { MAX_TRACKED = 64, MAX_LOOPS = 32 };

typedef struct unset {
    front *f;
    uint64_t mask; // variables not set yet on any path to here
    struct {
        ast_decl *decl;
        uint32_t loops; // open ones at the declaration
    } vars[MAX_TRACKED];
    uint32_t var_count;
    uint32_t loops;
    uint32_t conditions[MAX_LOOPS + 1]; // open conditional regions per loop depth
} unset;

static void walk(unset *u, const ast_expr *e);
static void walk_stmt(unset *u, const ast_stmt *s);

static int index_of(const unset *u, const ast_expr *e)
{
    if (!u->mask || e->kind != E_NAME)
        return -1;
    for (uint32_t i = 0; i < u->var_count; i++)
        if (u->vars[i].decl == e->decl)
            return u->mask >> i & 1 ? (int)i : -1;
    return -1;
}

static void set(unset *u, const ast_expr *e)
{
    int i = index_of(u, e);
    if (i >= 0)
        u->mask &= ~(1ull << i);
}

static void read(unset *u, const ast_expr *e)
{
    int i = index_of(u, e);
    if (i < 0)
        return;
    ast_decl *decl = u->vars[i].decl;
    bool is_ever_set = decl->is_assigned || decl->is_address_taken;
    uint32_t conditions = 0;
    for (uint32_t depth = u->vars[i].loops + 1; depth <= u->loops; depth++)
        conditions += u->conditions[depth];
    if (is_ever_set && conditions)
        return;
    diag *d = diag_raise(u->f->diags, K2208, e->at, "'%s' is read before it is set", decl->name);
    diag_label(d, e->at, "it is still 0 here");
    diag_label(d, decl->at, "declared without a value");
    u->mask &= ~(1ull << i);
}

static void open_condition(unset *u)
{
    u->conditions[u->loops]++;
}

static void close_condition(unset *u)
{
    u->conditions[u->loops]--;
}

// The parts of an lvalue that are computed; the object itself is not read.
static void walk_place(unset *u, const ast_expr *e)
{
    if (e->kind == E_NAME)
        return;
    if (e->kind == E_MEMBER && !e->is_arrow)
        walk_place(u, e->a);
    else
        walk(u, e);
}

static void walk_choice(unset *u, const ast_expr *e)
{
    walk(u, e->a);
    if (e->a->kind == E_INT) {
        walk(u, e->a->integer ? e->b : e->c);
        return;
    }
    open_condition(u);
    uint64_t before = u->mask;
    walk(u, e->b);
    uint64_t after = u->mask;
    u->mask = before;
    walk(u, e->c);
    u->mask &= after;
    close_condition(u);
}

static void walk(unset *u, const ast_expr *e)
{
    if (!e || !u->mask)
        return;
    if (e->kind == E_CONVERT && e->convert == CONVERT_LOAD) {
        if (e->a->kind == E_NAME)
            read(u, e->a);
        else
            walk_place(u, e->a);
        return;
    }
    if (e->kind == E_ASSIGN) {
        walk_place(u, e->a);
        walk(u, e->b);
        if (e->op != TOK_ASSIGN)
            read(u, e->a);
        set(u, e->a);
        return;
    }
    if (e->kind == E_INCDEC) {
        walk_place(u, e->a);
        read(u, e->a);
        set(u, e->a);
        return;
    }
    if (e->kind == E_UNARY && e->op == TOK_AMP) {
        walk_place(u, e->a);
        set(u, e->a);
        return;
    }
    if (e->kind == E_COND) {
        walk_choice(u, e);
        return;
    }
    if (e->kind == E_STMT) {
        walk_stmt(u, e->block);
        return;
    }
    bool is_logical = e->kind == E_BINARY && (e->op == TOK_ANDAND || e->op == TOK_OROR);
    walk(u, e->a);
    if (is_logical)
        open_condition(u);
    walk(u, e->b);
    if (is_logical)
        close_condition(u);
    for (uint32_t i = 0; i < e->args.len; i++)
        walk(u, e->args.at[i]);
    for (uint32_t i = 0; i < e->inits.len; i++)
        walk(u, e->inits.at[i].value);
}

static void declare_vars(unset *u, const ast_stmt *s)
{
    for (uint32_t i = 0; i < s->decls.len; i++) {
        ast_decl *d = s->decls.at[i];
        walk(u, d->init);
        bool tracked = d->kind == DECL_VAR && !d->init && !d->is_static && !d->is_shared &&
                       !(d->type->quals & QUAL_VOLATILE) && type_is_scalar(d->type);
        if (!tracked || u->var_count == MAX_TRACKED)
            continue;
        u->vars[u->var_count].decl = d;
        u->vars[u->var_count].loops = u->loops;
        u->mask |= 1ull << u->var_count++;
    }
}

static void walk_branches(unset *u, const ast_stmt *s)
{
    walk(u, s->expr);
    if (s->expr->kind == E_INT && !check_has_label(s)) {
        walk_stmt(u, s->expr->integer ? s->yes : s->no);
        return;
    }
    open_condition(u);
    uint64_t after = ~0ull;
    for (;;) {
        uint64_t before = u->mask;
        walk_stmt(u, s->yes);
        after &= u->mask;
        // Variables declared inside the branch are gone; they may stay unset in the mask.
        u->mask = before;
        s = s->no;
        bool goes_on = s && s->kind == S_IF && (s->expr->kind != E_INT || check_has_label(s));
        if (!goes_on)
            break;
        walk(u, s->expr);
    }
    walk_stmt(u, s);
    u->mask &= after;
    close_condition(u);
}

static void walk_loop(unset *u, const ast_stmt *s)
{
    walk_stmt(u, s->init);
    if (s->kind != S_DO)
        walk(u, s->expr);
    if (s->kind != S_DO && s->expr && s->expr->kind == E_INT && !s->expr->integer &&
        !check_has_label(s))
        return;
    if (u->loops == MAX_LOOPS) {
        u->mask = 0;
        return;
    }
    open_condition(u); // for the loops around this one
    u->loops++;
    walk_stmt(u, s->yes);
    walk(u, s->step);
    u->loops--;
    close_condition(u);
    if (s->kind == S_DO)
        walk(u, s->expr);
}

static void walk_stmt(unset *u, const ast_stmt *s)
{
    if (!s)
        return;
    switch ((stmt_kind)s->kind) {
    case S_EMPTY:
    case S_BREAK:
    case S_GOTO:
    case S_CONTINUE: break;
    case S_EXPR:
    case S_RETURN: walk(u, s->expr); break;
    case S_DECL: declare_vars(u, s); break;
    case S_BLOCK:
        for (uint32_t i = 0; i < s->body.len; i++)
            walk_stmt(u, s->body.at[i]);
        break;
    case S_IF: walk_branches(u, s); break;
    case S_WHILE:
    case S_DO:
    case S_FOR: walk_loop(u, s); break;
    case S_SWITCH:
        walk(u, s->expr);
        open_condition(u);
        walk_stmt(u, s->yes);
        close_condition(u);
        break;
    case S_CASE:
    case S_DEFAULT: walk_stmt(u, s->yes); break;
    case S_LABEL:
        u->mask = 0; // whatever jumps here may have set them
        walk_stmt(u, s->yes);
        break;
    }
}

void check_unset(front *f, ast_decl *func)
{
    unset u = {.f = f};
    walk_stmt(&u, func->body);
}
