// Checks of a whole body, after its expressions were typed: can its end be reached, is code behind
// a jump, are cases unique, are variables read before they are set (check_unset.c).
// Start reading at check_body.
#include "front/check.h"

typedef struct flow { // what the innermost loop or switch sees
    bool has_break, has_continue;
} flow;

typedef struct body {
    front *f;
    ast_decl *func;
    bool warns; // unreachable code is said once per function
} body;

static bool completes(body *b, ast_stmt *s, flow *to); // can control reach the statement's end?
static bool block_completes(body *b, ast_stmt *s, flow *to, bool is_switch);

static bool is_end_call(const ast_stmt *s)
{
    const ast_expr *e = s->expr;
    return e && e->kind == E_CALL && e->builtin &&
           (e->builtin->id == BI_trap || e->builtin->id == BI_unreachable);
}

// Of a function that is _Noreturn.
static bool is_last_call(const ast_stmt *s)
{
    const ast_expr *e = s && s->kind == S_EXPR ? s->expr : NULL;
    return e && e->kind == E_CALL && e->callee_decl && e->callee_decl->is_noreturn;
}

static bool is_forever(const ast_expr *condition)
{
    return !condition || (condition->kind == E_INT && condition->integer);
}

// --- switch

typedef struct cases {
    map values; // value -> index + 1 into labels
    vec(ast_stmt *) labels;
    ast_stmt *otherwise;
    const type *type;
} cases;

static void add_case(body *b, cases *c, ast_stmt *s)
{
    uint64_t value = check_wrap_int(c->type, (uint64_t)s->value);
    vec_push(b->f->in, &c->labels, s);
    bool is_wide = c->type->size == 8;
    if (!is_wide && s->value != (int32_t)s->value && s->value != (int64_t)(uint32_t)s->value) {
        diag *d =
            diag_raise(b->f->diags, K2406, s->at, "case %lld is never taken", (long long)s->value);
        diag_label(d, s->at, "the switch is on '%s'", T_OF(b->f, c->type));
        return;
    }
    s->value = (int64_t)value;
    uint64_t *slot = map_at(&c->values, value);
    if (*slot) {
        diag *d = diag_raise(b->f->diags, K2042, s->at, "case %lld stands twice in this switch",
                             (long long)s->value);
        diag_label(d, s->at, "again here");
        diag_label(d, c->labels.at[*slot - 1]->at, "first here");
        return;
    }
    *slot = c->labels.len;
}

static void collect_cases(body *b, cases *c, ast_stmt *s)
{
    for (; s && s->kind != S_SWITCH; s = s->no) {
        if (s->kind == S_CASE)
            add_case(b, c, s);
        if (s->kind == S_DEFAULT) {
            if (c->otherwise) {
                diag *d =
                    diag_raise(b->f->diags, K2042, s->at, "default stands twice in this switch");
                diag_label(d, s->at, "again here");
                diag_label(d, c->otherwise->at, "first here");
            }
            c->otherwise = s;
        }
        collect_cases(b, c, s->yes);
        for (uint32_t i = 0; i < s->body.len; i++)
            collect_cases(b, c, s->body.at[i]);
    }
}

static bool switch_completes(body *b, ast_stmt *s, flow *to)
{
    cases c = {.values = map_make(b->f->in), .type = s->expr->type};
    if (c.type->kind == TY_POISON)
        return true;
    collect_cases(b, &c, s->yes);
    if (!c.labels.len && !c.otherwise) {
        diag *d = diag_raise(b->f->diags, K2404, s->at, "this switch has no cases");
        diag_label(d, s->expr->at, "nothing in it can be reached");
    }
    flow inside = {0};
    bool falls_out = s->yes && s->yes->kind == S_BLOCK ? block_completes(b, s->yes, &inside, true)
                                                       : completes(b, s->yes, &inside);
    to->has_continue |= inside.has_continue;
    return falls_out || inside.has_break || !c.otherwise;
}

ast_stmt *check_unlabelled(ast_stmt *s)
{
    while (s && (s->kind == S_CASE || s->kind == S_DEFAULT || s->kind == S_LABEL))
        s = s->yes;
    return s;
}

bool check_has_label(const ast_stmt *s)
{
    for (; s && s->kind != S_SWITCH; s = s->no) {
        if (s->kind == S_CASE || s->kind == S_DEFAULT || check_has_label(s->yes))
            return true;
        for (uint32_t i = 0; i < s->body.len; i++)
            if (check_has_label(s->body.at[i]))
                return true;
    }
    return false;
}

// --- statements

// A ';' right behind the ')': on a line of its own it is meant.
static bool is_stray_semicolon(body *b, const ast_stmt *s)
{
    if (!s || s->kind != S_EMPTY)
        return false;
    uint32_t place = source_spell(b->f->sources, s->at).at.lo;
    const source_file *file = source_file_at(b->f->sources, place);
    if (!file || file->text.at[place - file->base] != ';')
        return false;
    uint32_t at = place - file->base;
    while (at && file->text.at[at - 1] == ' ')
        at--;
    return at && file->text.at[at - 1] == ')';
}

static void warn_empty(body *b, const ast_stmt *s, const char *word)
{
    if (!is_stray_semicolon(b, s))
        return;
    diag *d = diag_raise(b->f->diags, K2405, s->at, "the body of this '%s' is empty", word);
    diag_label(d, s->at, "this ';' ends it; write '{}' if that is meant");
    diag_fix(d, s->at, "say that it is meant", " {}");
}

static bool loop_completes(body *b, ast_stmt *s)
{
    flow inside = {0};
    bool falls = completes(b, s->yes, &inside);
    if (s->kind == S_DO && !falls && !inside.has_continue)
        return inside.has_break;
    return inside.has_break || !is_forever(s->expr);
}

static bool has_init(const ast_stmt *s)
{
    for (uint32_t i = 0; i < s->decls.len; i++)
        if (s->decls.at[i]->init)
            return true;
    return false;
}

// `is_switch`: the body of a switch, whose start nothing reaches.
static bool block_completes(body *b, ast_stmt *s, flow *to, bool is_switch)
{
    bool reachable = !is_switch;
    for (uint32_t i = 0; i < s->body.len; i++) {
        ast_stmt *each = s->body.at[i];
        bool is_idle = each->kind == S_EMPTY || each->kind == S_BREAK ||
                       (each->kind == S_DECL && !has_init(each));
        if (check_has_label(each) || each->kind == S_LABEL) {
            reachable = true;
        } else if (!reachable && i && is_last_call(check_unlabelled(s->body.at[i - 1]))) {
            // `exit(1); return 0;` is for compilers that do not know exit.
        } else if (!reachable && !is_idle && b->warns) {
            diag *d = diag_raise(b->f->diags, K2403, each->at, "this is never reached");
            if (i && !is_switch)
                diag_label(d, s->body.at[i - 1]->at, "control leaves here");
            else
                diag_label(d, each->at, "it stands before the first case");
            b->warns = false;
        }
        is_switch &= !reachable;
        bool goes_on = completes(b, each, to);
        if (reachable)
            reachable = goes_on;
    }
    return reachable;
}

static void check_return(body *b, ast_stmt *s)
{
    const type *result = b->func->type->base;
    if (result->kind == TY_VOID && s->expr && s->expr->type->kind != TY_VOID &&
        !is_poison(s->expr)) {
        diag *d = diag_raise(b->f->diags, K2402, s->at, "'%s' returns no value", b->func->name);
        diag_label(d, s->expr->at, "this is '%s'", T_OF(b->f, s->expr->type));
        diag_label(d, b->func->at, "declared void here");
    } else if (result->kind != TY_VOID && result->kind != TY_POISON && !s->expr) {
        diag *d = diag_raise(b->f->diags, K2402, s->at, "'%s' must return a value", b->func->name);
        diag_label(d, s->at, "'%s' is missing here", T_OF(b->f, result));
        diag_label(d, b->func->at, "declared here");
    }
}

static bool completes(body *b, ast_stmt *s, flow *to)
{
    if (!s)
        return true;
    switch ((stmt_kind)s->kind) {
    case S_EMPTY:
    case S_DECL: return true;
    case S_EXPR: return !is_end_call(s) && !is_last_call(s);
    case S_BLOCK: return block_completes(b, s, to, false);
    case S_IF: {
        // Constant conditions are not followed: they are how a kernel adapts to its target.
        bool goes_on = false;
        for (; s && s->kind == S_IF; s = s->no) {
            if (!s->no)
                warn_empty(b, s->yes, "if");
            goes_on |= completes(b, s->yes, to);
        }
        return completes(b, s, to) || goes_on;
    }
    case S_FOR: warn_empty(b, s->yes, "for"); return loop_completes(b, s);
    case S_WHILE:
    case S_DO: return loop_completes(b, s);
    case S_SWITCH: return switch_completes(b, s, to);
    case S_CASE:
    case S_DEFAULT:
    case S_LABEL: return completes(b, s->yes, to);
    case S_GOTO: return false;
    case S_BREAK: to->has_break = true; return false;
    case S_CONTINUE: to->has_continue = true; return false;
    case S_RETURN: check_return(b, s); return false;
    }
    return true;
}

void check_inner_block(front *f, const ast_expr *e)
{
    body b = {.f = f, .func = f->current_func};
    flow inside = {0};
    uint32_t errors = f->diags->error_count;
    if (completes(&b, e->block, &inside) || errors != f->diags->error_count)
        return;
    diag *d = diag_raise(f->diags, K1016, e->at, "this statement expression never ends");
    diag_label(d, e->at, "nothing reaches its '})'");
    diag_note(d, "what ends the thread is a statement of its own");
}

void check_body(front *f, ast_decl *func)
{
    if (!func->body || func->type->kind != TY_FUNC)
        return;
    if (func->has_labels)
        check_gotos(f, func);
    body b = {.f = f, .func = func, .warns = true};
    flow top = {0};
    bool falls_out = completes(&b, func->body, &top);
    const type *result = func->type->base;
    bool needs_value = result->kind != TY_VOID && result->kind != TY_POISON && !func->is_kernel;
    if (falls_out && needs_value && strcmp(func->name, "main") != 0) { // main's end gives 0
        span end = func->body->at;
        if (end.hi > end.lo)
            end.lo = end.hi - 1; // the closing brace
        diag *d = diag_raise(f->diags, func->is_lax ? K2407 : K2401, end,
                             "'%s' can end without a value", func->name);
        diag_label(d, end, "control reaches this without a return%s",
                   func->is_lax ? ": the value is 0" : "");
        diag_label(d, func->at, "must return '%s'", T_OF(f, result));
    }
    check_unset(f, func);
}
