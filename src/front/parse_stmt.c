// Statements: tokens to a checked tree. Expressions are checked as soon as they are complete.
// Invariant: after every statement the cursor has moved, and no panic is left.
// Start reading at parse_statement.
#include "front/parse.h"

static ast_stmt *parse_statement(parser *p);

static ast_stmt *new_stmt(parser *p, stmt_kind k, span at)
{
    ast_stmt *s = arena_new_of(p->f->in, ast_stmt);
    s->kind = (uint8_t)k;
    s->at = at;
    return s;
}

static bool can_check(const parser *p)
{
    return !p->is_panicking;
}

// --- conditions and loops

// After a mistake between the brackets the statement goes on behind them.
static void recover_behind(parser *p, uint32_t open)
{
    uint32_t close = p->tokens[open].match;
    if (!p->is_panicking || close <= open || close >= p->end || p->at > close + 1)
        return;
    p->at = close + 1;
    p->is_panicking = false;
}

static ast_expr *parse_condition(parser *p, const char *word)
{
    span open = here(p);
    uint32_t open_index = p->at;
    if (!expect(p, TOK_LPAREN, word))
        return poison_expr(p, open);
    ast_expr *e = parse_expr(p);
    expect_close(p, TOK_RPAREN, open);
    if (can_check(p))
        return check_condition(p->f, e);
    recover_behind(p, open_index);
    return poison_expr(p, e->at);
}

// The statement under an if or a loop; it has a scope of its own.
static ast_stmt *parse_body(parser *p)
{
    scope *outer = p->scope;
    p->scope = scope_in(p->f, outer);
    if (starts_type(p) && kind(p) != TOK_LBRACE) {
        span at = here(p);
        diag *d = diag_raise(p->f->diags, K1037, at, "a declaration cannot stand here alone");
        diag_label(d, at, "its name would be gone at the ';'");
        diag_note(d, "put braces around it, with the statements that use it");
    }
    ast_stmt *s = parse_statement(p);
    p->scope = outer;
    return s;
}

static ast_stmt *parse_loop_body(parser *p)
{
    p->loops++;
    ast_stmt *s = parse_body(p);
    p->loops--;
    return s;
}

static ast_stmt *parse_if(parser *p)
{
    ast_stmt *s = new_stmt(p, S_IF, here(p));
    step(p);
    s->expr = parse_condition(p, "'if'");
    if (p->is_panicking)
        return s;
    s->yes = parse_body(p);
    ast_stmt *last = s;
    // A chain of else-ifs is as long as it likes: a loop, not a recursion.
    while (kind(p) == TOK_ELSE && kind_ahead(p, 1) == TOK_IF && !p->is_panicking) {
        step(p);
        last->no = new_stmt(p, S_IF, here(p));
        last = last->no;
        step(p);
        last->expr = parse_condition(p, "'if'");
        if (!p->is_panicking)
            last->yes = parse_body(p);
    }
    if (!p->is_panicking && accept(p, TOK_ELSE))
        last->no = parse_body(p);
    return s;
}

static ast_stmt *parse_while(parser *p)
{
    ast_stmt *s = new_stmt(p, S_WHILE, here(p));
    step(p);
    s->expr = parse_condition(p, "'while'");
    if (!p->is_panicking)
        s->yes = parse_loop_body(p);
    return s;
}

static ast_stmt *parse_do(parser *p)
{
    ast_stmt *s = new_stmt(p, S_DO, here(p));
    step(p);
    s->yes = parse_loop_body(p);
    if (!expect(p, TOK_WHILE, "the body of 'do'")) {
        s->expr = poison_expr(p, here(p));
        return s;
    }
    s->expr = parse_condition(p, "'while'");
    expect_semi(p, "the condition of 'do … while'");
    return s;
}

static ast_stmt *parse_for_init(parser *p)
{
    if (accept(p, TOK_SEMI))
        return NULL;
    ast_stmt *s = new_stmt(p, S_EXPR, here(p));
    if (starts_type(p)) {
        s->kind = S_DECL;
        parse_local_declaration(p, s);
        return s;
    }
    ast_expr *e = parse_expr(p);
    s->expr = can_check(p) ? check_discarded(p->f, e) : poison_expr(p, e->at);
    expect(p, TOK_SEMI, "the start of 'for'");
    return s;
}

static ast_stmt *parse_for(parser *p)
{
    ast_stmt *s = new_stmt(p, S_FOR, here(p));
    step(p);
    span open = here(p);
    uint32_t open_index = p->at;
    if (!expect(p, TOK_LPAREN, "'for'"))
        return s;
    scope *outer = p->scope;
    p->scope = scope_in(p->f, outer);
    s->init = parse_for_init(p);
    if (kind(p) != TOK_SEMI && !p->is_panicking) {
        ast_expr *e = parse_expr(p);
        s->expr = can_check(p) ? check_condition(p->f, e) : poison_expr(p, e->at);
    }
    expect(p, TOK_SEMI, "the condition of 'for'");
    if (kind(p) != TOK_RPAREN && !p->is_panicking) {
        ast_expr *e = parse_expr(p);
        s->step = can_check(p) ? check_discarded(p->f, e) : poison_expr(p, e->at);
    }
    expect_close(p, TOK_RPAREN, open);
    recover_behind(p, open_index);
    if (!p->is_panicking)
        s->yes = parse_loop_body(p);
    p->scope = outer;
    return s;
}

// --- switch

static ast_stmt *parse_switch(parser *p)
{
    ast_stmt *s = new_stmt(p, S_SWITCH, here(p));
    step(p);
    span open = here(p);
    if (!expect(p, TOK_LPAREN, "'switch'")) {
        s->expr = poison_expr(p, open);
        return s;
    }
    uint32_t open_index = p->at - 1;
    ast_expr *e = parse_expr(p);
    expect_close(p, TOK_RPAREN, open);
    s->expr = can_check(p) ? check_switch_value(p->f, e) : poison_expr(p, e->at);
    recover_behind(p, open_index);
    if (p->is_panicking)
        return s;
    p->switches++;
    s->yes = parse_body(p);
    p->switches--;
    return s;
}

static void outside_switch(parser *p, span at, const char *word)
{
    if (p->switches)
        return;
    diag *d = diag_raise(p->f->diags, K1022, at, "'%s' outside a switch", word);
    diag_label(d, at, "no switch is open here");
}

// What stands after a label: a statement, as in C11.
static ast_stmt *parse_labelled(parser *p)
{
    span at = previous(p);
    if (kind(p) == TOK_RBRACE) {
        span end = {at.hi, at.hi};
        diag *d = diag_raise(p->f->diags, K1050, at, "a label needs a statement after it");
        diag_label(d, here(p), "the block ends here");
        diag_fix(d, end, "put an empty statement there", ";");
        return new_stmt(p, S_EMPTY, at);
    }
    if (starts_type(p)) {
        diag *d = diag_raise(p->f->diags, K1037, here(p), "a declaration cannot follow a label");
        diag_label(d, at, "after this label C wants a statement");
        diag_note(d, "put braces around the statements of this case");
    }
    return parse_statement(p);
}

// GNU's `case 1 ... 3`, after its first value: labels for the others, each the statement of the one
// before it. Gives the last one.
static ast_stmt *parse_case_range(parser *p, ast_stmt *first)
{
    step(p);
    ast_expr *e = parse_cond(p);
    int64_t high = 0;
    if (!can_check(p) || !check_const_int(p->f, e, &high, "case value"))
        return first;
    first->at = span_join(first->at, e->at);
    if (high < first->value || (uint64_t)high - (uint64_t)first->value >= PARSE_MAX_RANGE) {
        diag *d = diag_raise(p->f->diags, K1045, first->at, "a range of cases has 1 to %d values",
                             PARSE_MAX_RANGE);
        diag_label(d, first->at, "from %lld to %lld", (long long)first->value, (long long)high);
        diag_note(d, "use an if before the switch");
        return first;
    }
    ast_stmt *last = first;
    for (int64_t value = first->value; value < high;) {
        last = last->yes = new_stmt(p, S_CASE, first->at);
        last->value = ++value;
    }
    return last;
}

static ast_stmt *parse_case(parser *p)
{
    ast_stmt *s = new_stmt(p, S_CASE, here(p)), *last = s;
    outside_switch(p, s->at, "case");
    step(p);
    ast_expr *e = parse_cond(p);
    bool is_good = can_check(p) && check_const_int(p->f, e, &s->value, "case value");
    s->at = span_join(s->at, e->at);
    if (is_good && kind(p) == TOK_ELLIPSIS)
        last = parse_case_range(p, s);
    if (expect(p, TOK_COLON, "the case value"))
        last->yes = parse_labelled(p);
    return s;
}

static ast_stmt *parse_default(parser *p)
{
    ast_stmt *s = new_stmt(p, S_DEFAULT, here(p));
    outside_switch(p, s->at, "default");
    step(p);
    if (expect(p, TOK_COLON, "'default'"))
        s->yes = parse_labelled(p);
    return s;
}

// --- jumps

// What would lead out of a statement expression, or into it: it is lowered within an expression.
static void leaves_inner(parser *p, const char *what)
{
    if (!p->inner)
        return;
    diag *d = diag_raise(p->f->diags, K1016, here(p), "%s in a statement expression", what);
    diag_label(d, here(p), "control stays between '({' and '})'");
    diag_note(d, "give the value to a variable, and decide behind the expression");
}

static ast_stmt *parse_jump(parser *p, stmt_kind k)
{
    ast_stmt *s = new_stmt(p, k, here(p));
    bool is_break = k == S_BREAK;
    bool is_open = p->loops || (is_break && p->switches);
    if (!is_open && p->inner) {
        leaves_inner(p, is_break ? "'break' out of a loop" : "'continue' of an outer loop");
        s->kind = S_EMPTY;
    } else if (!is_open) {
        diag *d = diag_raise(p->f->diags, K1021, s->at, "'%s' outside a loop",
                             is_break ? "break" : "continue");
        diag_label(d, s->at, "no loop is open here");
        diag_note(d, "'return' leaves the function");
        s->kind = S_EMPTY;
    }
    step(p);
    expect_semi(p, is_break ? "'break'" : "'continue'");
    return s;
}

static ast_stmt *parse_return(parser *p)
{
    ast_stmt *s = new_stmt(p, S_RETURN, here(p));
    step(p);
    if (kind(p) != TOK_SEMI) {
        const type *result = p->f->current_func->type->base;
        ast_expr *e = kind(p) == TOK_LBRACE ? parse_init(p) : parse_expr(p);
        if (e->kind == E_INIT_LIST && !p->is_panicking) {
            diag *d = diag_raise(p->f->diags, K1001, e->at, "a braced list is not a value");
            diag_label(d, e->at, "write the type before it: (%s){…}", type_text(p->f->in, result));
            e = poison_expr(p, e->at);
        }
        s->expr = can_check(p) ? check_value(p->f, e) : poison_expr(p, e->at);
        if (result->kind != TY_VOID && can_check(p))
            s->expr = check_convert(p->f, s->expr, result, "return value");
        s->at = span_join(s->at, e->at);
    }
    expect_semi(p, "'return'");
    return s;
}

// The label of that name in this function; made at its first mention.
static ast_label *find_label(parser *p, const char *name)
{
    for (uint32_t i = 0; i < p->labels.len; i++)
        if (p->labels.at[i]->name == name)
            return p->labels.at[i];
    ast_label *label = arena_new_of(p->f->in, ast_label);
    label->name = name;
    vec_push(p->f->in, &p->labels, label);
    return label;
}

static ast_stmt *parse_goto(parser *p)
{
    ast_stmt *s = new_stmt(p, S_GOTO, here(p));
    leaves_inner(p, "'goto'");
    step(p);
    if (kind(p) != TOK_IDENT) {
        if (kind(p) == TOK_STAR) {
            diag *d = parse_error(p, K1011, s->at, "goto leads to a label, not to an address");
            diag_note(d, "use a switch, or a table of functions");
        } else {
            parse_expected(p, "the name of a label");
        }
        s->kind = S_EMPTY;
        return s;
    }
    s->label = find_label(p, tok(p)->name);
    s->at = span_join(s->at, here(p));
    step(p);
    expect_semi(p, "goto");
    return s;
}

static ast_stmt *parse_label(parser *p)
{
    ast_stmt *s = new_stmt(p, S_LABEL, here(p));
    leaves_inner(p, "a label");
    ast_label *label = s->label = find_label(p, tok(p)->name);
    if (label->at.lo) {
        diag *d = diag_raise(p->f->diags, K1012, s->at, "'%s' is a label already", label->name);
        diag_label(d, s->at, "second one");
        diag_label(d, label->at, "first one");
        s->kind = S_EMPTY;
    } else {
        label->at = s->at;
    }
    step(p);
    step(p);
    s->yes = kind(p) == TOK_RBRACE ? new_stmt(p, S_EMPTY, s->at) : parse_statement(p);
    return s->kind == S_EMPTY ? s->yes : s;
}

// A statement that cannot be, whatever it says: `d` is about its first token.
static ast_stmt *refuse_statement(parser *p, diag *d, const char *label, const char *note)
{
    span at = here(p);
    diag_label(d, at, "%s", label);
    diag_note(d, "%s", note);
    skip_statement(p);
    return new_stmt(p, S_EMPTY, at);
}

static ast_stmt *parse_asm(parser *p)
{
    return refuse_statement(
        p, diag_raise(p->f->diags, K1018, here(p), "inline assembly is not possible in a kernel"),
        "no device but one would understand it",
        "use a builtin, or a branch on target_is_cuda() and the like");
}

// --- pragmas

static bool is_loop(token_kind k)
{
    return k == TOK_FOR || k == TOK_WHILE || k == TOK_DO;
}

static void no_loop_after(parser *p, span at)
{
    diag *d = diag_raise(p->f->diags, K1111, at, "this #pragma unroll is not before a loop");
    diag_label(d, at, "it has no effect");
    diag_note(d, "put it on the line right above 'for', 'while' or 'do'");
}

static ast_stmt *parse_after_pragma(parser *p)
{
    const token *t = tok(p);
    int32_t number = parse_pragma(p);
    if (t->name != p->common->words[W_UNROLL])
        return kind(p) == TOK_RBRACE ? new_stmt(p, S_EMPTY, t->at) : parse_statement(p);
    token_kind next = kind(p);
    if (!is_loop(next) && next != TOK_PRAGMA)
        no_loop_after(p, t->at);
    if (next == TOK_RBRACE)
        return new_stmt(p, S_EMPTY, t->at);
    ast_stmt *s = parse_statement(p);
    if (s->kind == S_FOR || s->kind == S_WHILE || s->kind == S_DO)
        s->unroll = (int16_t)(number > INT16_MAX ? INT16_MAX : number);
    return s;
}

// --- declarations and expressions

// `flot x;`: two names in a row, the first unknown; or `Foo *x;` with an unknown Foo.
static bool looks_like_unknown_type(const parser *p)
{
    const token *t = tok(p), *next = tok_ahead(p, 1);
    if (t->kind != TOK_IDENT || scope_find(p->scope, t->name))
        return false;
    if (next->kind == TOK_IDENT)
        return !(next->flags & TF_LINE_START);
    const token *third = tok_ahead(p, 2);
    token_kind fourth = (token_kind)tok_ahead(p, 3)->kind;
    bool ends = fourth == TOK_SEMI || fourth == TOK_ASSIGN || fourth == TOK_COMMA;
    return next->kind == TOK_STAR && third->kind == TOK_IDENT && ends &&
           !scope_find(p->scope, third->name);
}

static ast_stmt *parse_declaration_statement(parser *p)
{
    ast_stmt *s = new_stmt(p, S_DECL, here(p));
    parse_local_declaration(p, s);
    s->at = span_join(s->at, previous(p));
    if (!s->decls.len)
        s->kind = S_EMPTY;
    return s;
}

static ast_stmt *parse_expression_statement(parser *p)
{
    ast_stmt *s = new_stmt(p, S_EXPR, here(p));
    ast_expr *e = parse_expr(p);
    bool is_last = kind(p) == TOK_SEMI && tok_ahead(p, 1)->kind == TOK_RBRACE;
    if (is_last && p->inner && p->scope == p->value_scope && can_check(p)) {
        p->value = e; // of the statement expression
        s->kind = S_EMPTY;
    } else {
        s->expr = can_check(p) ? check_discarded(p->f, e) : poison_expr(p, e->at);
    }
    s->at = e->at;
    expect_semi(p, "the expression");
    return s;
}

static ast_stmt *parse_else(parser *p)
{
    span at = here(p);
    diag *d = diag_raise(p->f->diags, K1046, at, "'else' without an 'if'");
    diag_label(d, at, "nothing before this waits for an else");
    diag_note(d, "an if takes one statement: put braces around several; no ';' after its '}'");
    step(p);
    return parse_statement(p);
}

static ast_stmt *parse_tune_inside(parser *p)
{
    return refuse_statement(
        p, diag_raise(p->f->diags, K1109, here(p), "tune cannot stand inside a function"),
        "it declares a constant of the file", "move the line above the function");
}

// What a condition declares (an enum in a sizeof) is gone behind the statement.
static ast_stmt *parse_scoped(parser *p, ast_stmt *(*parse)(parser *))
{
    scope *outer = p->scope;
    p->scope = scope_in(p->f, outer);
    ast_stmt *s = parse(p);
    p->scope = outer;
    return s;
}

static ast_stmt *parse_statement_inner(parser *p)
{
    span at = here(p);
    switch (kind(p)) {
    case TOK_SEMI: step(p); return new_stmt(p, S_EMPTY, at);
    case TOK_LBRACE: return parse_block(p, true);
    case TOK_IF: return parse_scoped(p, parse_if);
    case TOK_WHILE: return parse_scoped(p, parse_while);
    case TOK_DO: return parse_scoped(p, parse_do);
    case TOK_FOR: return parse_for(p);
    case TOK_SWITCH: return parse_scoped(p, parse_switch);
    case TOK_CASE: return parse_case(p);
    case TOK_DEFAULT: return parse_default(p);
    case TOK_BREAK: return parse_jump(p, S_BREAK);
    case TOK_CONTINUE: return parse_jump(p, S_CONTINUE);
    case TOK_RETURN: return parse_return(p);
    case TOK_GOTO: return parse_goto(p);
    case TOK_ASM: return parse_asm(p);
    case TOK_ELSE: return parse_else(p);
    case TOK_PRAGMA: return parse_after_pragma(p);
    case TOK_STATIC_ASSERT: parse_static_assert(p); return new_stmt(p, S_EMPTY, at);
    case TOK_RBRACE: parse_expected(p, "a statement"); return new_stmt(p, S_EMPTY, at);
    case TOK_ATTRIBUTE: { // __attribute__((fallthrough));
        uint32_t align = 0;
        span align_at = {0, 0};
        parser look = *p;
        parse_attributes(&look, &align, &align_at);
        if (kind(&look) == TOK_SEMI) {
            p->at = look.at + 1;
            return new_stmt(p, S_EMPTY, at);
        }
        break;
    default: break;
    }
    case TOK_IDENT:
        if (tok_ahead(p, 1)->kind == TOK_COLON)
            return parse_label(p);
        if (is_word(p, W_WHEN_NAMED))
            return parse_when_named(p);
        if (starts_tune(p) && tok_ahead(p, 2)->kind == TOK_IDENT)
            return parse_tune_inside(p);
        break;
    }
    if (starts_type(p) || looks_like_unknown_type(p))
        return parse_declaration_statement(p);
    return parse_expression_statement(p);
}

static ast_stmt *parse_statement(parser *p)
{
    span at = here(p);
    if (!enter(p)) {
        leave(p);
        return new_stmt(p, S_EMPTY, at);
    }
    ast_stmt *s = parse_statement_inner(p);
    leave(p);
    return s;
}

ast_stmt *parse_block(parser *p, bool opens_scope)
{
    ast_stmt *block = new_stmt(p, S_BLOCK, here(p));
    span open = here(p);
    scope *outer = p->scope;
    if (opens_scope)
        p->scope = scope_in(p->f, outer);
    step(p);
    while (kind(p) != TOK_RBRACE && p->at < p->end) {
        uint32_t before = p->at;
        ast_stmt *s = parse_statement(p);
        if (p->is_panicking) {
            skip_statement(p);
            s = new_stmt(p, S_EMPTY, s->at);
        }
        if (p->at == before) // cannot happen with a statement that was understood
            step(p);
        vec_push(p->f->in, &block->body, s);
    }
    expect_close(p, TOK_RBRACE, open);
    block->at = span_join(open, previous(p));
    p->scope = outer;
    return block;
}
