// Expressions: tokens to an unchecked tree, with every name looked up.
// Invariant: the tree's height is bounded (PARSE_MAX_HEIGHT), however long the chain of operators,
// so that the checker and lowering may recurse over it. Start reading at the end: parse_expr, then
// upwards by precedence.
#include "front/check.h"
#include "front/parse.h"

ast_expr *new_expr(parser *p, expr_kind k, span at)
{
    ast_expr *e = arena_new_of(p->f->in, ast_expr);
    e->kind = (uint8_t)k;
    e->at = at;
    e->height = 1;
    return e;
}

ast_expr *poison_expr(parser *p, span at)
{
    ast_expr *e = new_expr(p, E_POISON, at);
    e->type = type_scalar(TY_POISON);
    return e;
}

// After a child was hung under e.
static void grow(ast_expr *e, const ast_expr *child)
{
    if (!child || child->height < e->height)
        return;
    e->height = (uint16_t)(child->height + 1);
}

static ast_expr *finish(parser *p, ast_expr *e)
{
    grow(e, e->a);
    grow(e, e->b);
    grow(e, e->c);
    if (e->height > p->height)
        p->height = e->height;
    if (e->height <= PARSE_MAX_HEIGHT)
        return e;
    diag *d = parse_error(p, K1007, e->op_at.lo ? e->op_at : e->at,
                          "this expression chains more than %d operations", PARSE_MAX_HEIGHT);
    diag_note(d, "split it into several statements");
    return poison_expr(p, e->at);
}

ast_expr *int_expr(parser *p, span at, uint64_t value, type_kind k)
{
    ast_expr *e = new_expr(p, E_INT, at);
    e->integer = value;
    e->type = type_scalar(k);
    return e;
}

// --- literals and names

static ast_expr *parse_number(parser *p)
{
    const token *t = tok(p);
    step(p);
    if (t->kind == TOK_CHAR)
        return int_expr(p, t->at, t->integer, TY_I32);
    if (t->kind == TOK_FLOAT) {
        ast_expr *e = new_expr(p, E_FLOAT, t->at);
        e->real = t->real;
        e->type = type_scalar(t->flags & TF_F32 ? TY_F32 : TY_F64);
        return e;
    }
    bool is_unsigned = t->flags & TF_UNSIGNED, is_long = t->flags & TF_LONG;
    bool may_be_unsigned = is_unsigned || !(t->flags & TF_DECIMAL);
    type_kind k = TY_U64;
    if (!is_long && !is_unsigned && t->integer <= INT32_MAX)
        k = TY_I32;
    else if (!is_long && may_be_unsigned && t->integer <= UINT32_MAX)
        k = TY_U32;
    else if (!is_unsigned && t->integer <= INT64_MAX)
        k = TY_I64;
    return int_expr(p, t->at, t->integer, k);
}

static ast_expr *predefined(parser *p, const char *name, span at)
{
    const uint64_t *w = map_find(&p->common->word_of, map_key(name));
    switch (w ? (int)*w : W_NONE) {
    case W_TRUE: return int_expr(p, at, 1, TY_I32);
    case W_FALSE: return int_expr(p, at, 0, TY_I32);
    case W_NULL_: {
        ast_expr *e = new_expr(p, E_CAST, at);
        e->a = int_expr(p, at, 0, TY_I32);
        e->cast_type = type_pointer(p->f->in, type_scalar(TY_VOID));
        return finish(p, e);
    }
    case W_FUNC:
    case W_FUNC1:
    case W_FUNC2: {
        ast_expr *e = new_expr(p, E_STRING, at);
        e->bytes = str_of(p->f->current_func ? p->f->current_func->name : "");
        return e;
    }
    }
    return NULL;
}

static void remember_shared(front *f, ast_decl *d)
{
    for (uint32_t i = 0; i < f->shared_vars.len; i++)
        if (f->shared_vars.at[i] == d)
            return;
    vec_push(f->in, &f->shared_vars, d);
}

void used_too_early(parser *p, const ast_decl *d, span at)
{
    const source_file *file = source_file_at(p->f->sources, d->at.lo);
    const char *brings =
        d->kind == DECL_FUNC && file && file->is_builtin ? absent_find(p->f, d->name) : NULL;
    if (brings) { // by kiln run --main, behind the program
        diag *e = diag_raise(p->f->diags, K2002, at, "there is no function '%s'", d->name);
        diag_label(e, at, "its header is not included");
        diag_note(e, "%s", brings);
        return;
    }
    diag *e = diag_raise(p->f->diags, K1010, at, "'%s' is used before it is declared", d->name);
    diag_label(e, at, "used here");
    diag_label(e, d->at, "declared further down");
    diag_note(e, d->kind == DECL_FUNC
                     ? "move the function up, or put a prototype of it above this function"
                     : "move the declaration above this function");
}

// Not declared again in a block, as by a prototype.
static bool is_only_file_scope(const parser *p, const ast_decl *d)
{
    for (const scope *s = p->scope; s != p->file_scope; s = s->outer)
        if (scope_find_here(s, d->name))
            return false;
    return true;
}

bool comes_later(const parser *p, const ast_decl *d)
{
    const ast_decl *func = p->f->current_func;
    return func && d->order > func->body_order && !p->is_library && is_only_file_scope(p, d);
}

// A name that nothing resembles is reported once in a function. One with a fix-it is reported at
// every use.
static void silence_unknown(parser *p, const char *name, span at)
{
    const type *fixed = NULL;
    if (!p->f->current_func || kind(p) == TOK_LPAREN || builtin_find(name, &fixed) ||
        foreign_find(name) || front_suggest(p->f, p->scope, name))
        return;
    scope *s = p->scope;
    while (s->outer && s->outer != p->file_scope)
        s = s->outer;
    ast_decl *d = new_decl(p, DECL_VAR, name, at, type_scalar(TY_POISON));
    d->is_file_scope = false;
    *map_at(&s->names, map_key(name)) = map_key(d);
}

// A name in a macro of Kiln's own, or in the text of C's headers, means what it means there,
// whatever the user calls so. A variable that such a macro declares itself is its own, too.
bool is_captured(const front *f, span use, const ast_decl *d)
{
    const source_file *file = source_file_at(f->sources, d->at.lo);
    if (!file || file->is_builtin)
        return false;
    if (source_is_own(f->sources, use.lo))
        return !source_is_own(f->sources, d->at.lo);
    const source_file *user = source_file_at(f->sources, use.lo);
    return user && user->is_closed;
}

static ast_expr *parse_name(parser *p)
{
    const token *t = tok(p);
    step(p);
    ast_decl *d = scope_find(p->scope, t->name);
    if (d && is_captured(p->f, t->at, d))
        d = find_header_name(p->f, t->name);
    if (!d) {
        ast_expr *e = predefined(p, t->name, t->at);
        if (e)
            return e;
    }
    const builtin *b = NULL;
    const type *fixed = NULL;
    if (d && d->kind == DECL_FUNC && !d->body_first) // a host header's prototype of a builtin
        b = builtin_find(t->name, &fixed);
    if (b)
        d = NULL;
    ast_expr *e = new_expr(p, E_NAME, t->at);
    e->name = t->name;
    e->decl = d;
    e->scope = p->scope;
    if (!d) {
        silence_unknown(p, t->name, t->at);
        return e;
    }
    d->is_used = true;
    if (d->is_host_only && d->host_diag) {
        replay_host_diag(p, d->host_diag, d->name, t->at);
        return poison_expr(p, t->at);
    }
    const ast_decl *func = p->f->current_func;
    if (comes_later(p, d)) {
        used_too_early(p, d, t->at);
        return poison_expr(p, t->at);
    }
    if (d->is_shared && func)
        remember_shared(p->f, d);
    return e;
}

// `i32(x)`, and a type where a value belongs.
static ast_expr *parse_stray_type(parser *p)
{
    span at = here(p);
    str spelled = source_text(p->f->sources, at);
    const char *name = str_dup(p->f->in, spelled);
    bool is_call =
        tok_ahead(p, 1)->kind == TOK_LPAREN && kind(p) != TOK_TYPEOF && kind(p) != TOK_ATOMIC;
    if (complain_template(p, name))
        return poison_expr(p, at);
    if (!is_call) {
        diag *d = parse_error(p, K1033, at, "%s is a type, where a value is expected", found(p));
        diag_label(d, at, "a type");
        if (is_word(p, W_F32))
            diag_note(d, "f32(x) converts a number, (f32)x casts one");
        return poison_expr(p, at);
    }
    diag *d = parse_error(p, K1033, at, "a type cannot be called like a function");
    p->is_panicking = false;
    diag_label(d, at, "'%s' is a type", name);
    diag_note(d, "C writes a conversion as a cast: (%s)(…)", name);
    diag_fix(d, at, "make it a cast", "(%s)", name);
    step(p);
    uint32_t open = p->at;
    skip_to_close(p, open);
    accept(p, TOK_RPAREN);
    return poison_expr(p, span_join(at, previous(p)));
}

// --- primary and postfix

static ast_expr *parse_generic(parser *p)
{
    ast_expr *e = new_expr(p, E_GENERIC, here(p));
    step(p);
    span open = here(p);
    if (!expect(p, TOK_LPAREN, "'_Generic'"))
        return poison_expr(p, e->at);
    e->a = parse_assign(p);
    struct generic_arm **last = &e->arms;
    uint32_t height = e->a->height;
    while (accept(p, TOK_COMMA)) {
        struct generic_arm *arm = arena_new_of(p->f->in, struct generic_arm);
        arm->at = here(p);
        if (!accept(p, TOK_DEFAULT))
            arm->type = parse_type_name(p);
        expect(p, TOK_COLON, "the type of a choice");
        arm->value = parse_assign(p);
        height = arm->value->height > height ? arm->value->height : height;
        *last = arm;
        last = &arm->next;
    }
    if (!e->arms)
        parse_expected(p, "',' and a choice such as 'f32: value'");
    expect_close(p, TOK_RPAREN, open);
    e->at = span_join(e->at, previous(p));
    e->height = (uint16_t)height;
    e = finish(p, e);
    return p->is_panicking ? poison_expr(p, e->at) : e;
}

// GNU's ({ statements; value; }): the statements, a comma, the value.
static ast_expr *parse_statement_expr(parser *p)
{
    span open = here(p);
    uint32_t first = p->at;
    if (!p->f->current_func || !enter(p)) {
        diag *d = parse_error(p, K1016, open, "a block cannot be an expression here");
        diag_label(d, open, "statements stand in functions");
        p->is_panicking = false;
        step(p);
        skip_to_close(p, first);
        accept(p, TOK_RPAREN);
        return poison_expr(p, span_join(open, previous(p)));
    }
    parser outer = *p;
    step(p);
    p->inner++;
    p->loops = p->switches = 0;
    p->value = NULL;
    p->scope = p->value_scope = scope_in(p->f, outer.scope);
    ast_expr *e = new_expr(p, E_STMT, open), *value;
    e->block = parse_block(p, false);
    value = p->value;
    p->scope = outer.scope;
    p->inner = outer.inner;
    p->loops = outer.loops;
    p->switches = outer.switches;
    p->value = outer.value;
    p->value_scope = outer.value_scope;
    leave(p);
    expect_close(p, TOK_RPAREN, open);
    e->at = span_join(open, previous(p));
    e->type = type_scalar(TY_VOID);
    e->is_checked = true;
    if (!p->is_panicking)
        check_inner_block(p->f, e);
    if (!value)
        return e;
    ast_expr *comma = new_expr(p, E_COMMA, e->at);
    comma->is_parenthesised = true;
    comma->a = e;
    comma->b = value;
    return finish(p, comma);
}

static ast_expr *parse_parens(parser *p)
{
    if (tok_ahead(p, 1)->kind == TOK_LBRACE)
        return parse_statement_expr(p);
    span open = here(p);
    step(p);
    ast_expr *e = parse_expr(p);
    expect_close(p, TOK_RPAREN, open);
    e->is_parenthesised = true;
    e->at = span_join(open, span_join(e->at, previous(p)));
    return e;
}

static void no_asm(parser *p)
{
    diag *d = parse_error(p, K1018, here(p), "inline assembly is not possible in a kernel");
    diag_note(d, "a kernel runs on many devices; use a builtin, or a branch on target_is_cuda()");
}

static ast_expr *parse_primary(parser *p)
{
    const token *t = tok(p);
    for (; t->kind == TOK_PRAGMA; t = tok(p))
        parse_pragma(p);
    switch (kind(p)) {
    case TOK_INT:
    case TOK_FLOAT:
    case TOK_CHAR: return parse_number(p);
    case TOK_STRING: {
        ast_expr *e = new_expr(p, E_STRING, t->at);
        e->bytes = t->bytes;
        step(p);
        return e;
    default: break;
    }
    case TOK_LPAREN: return parse_parens(p);
    case TOK_GENERIC: return parse_generic(p);
    case TOK_ASM: no_asm(p); return poison_expr(p, t->at);
    case TOK_IDENT: {
        bool is_call =
            tok_ahead(p, 1)->kind == TOK_LPAREN && kind(p) != TOK_TYPEOF && kind(p) != TOK_ATOMIC;
        ast_decl *d = NULL;
        bool is_conversion = is_call && is_word(p, W_F32);
        bool is_offsetof = is_word(p, W_OFFSETOF) || is_word(p, W_OFFSETOF_);
        if (is_call && is_word(p, W_TYPES_COMPATIBLE))
            return parse_types_compatible(p);
        if (is_call && is_offsetof && !scope_find(p->scope, t->name))
            return parse_offsetof(p);
        if (!is_conversion && find_type_name(p, t->name, &d))
            return parse_stray_type(p);
        if (complain_cpp(p))
            return poison_expr(p, t->at);
        return parse_name(p);
    }
    }
    if (starts_type(p))
        return parse_stray_type(p);
    if (kind(p) == TOK_ANDAND && tok_ahead(p, 1)->kind == TOK_IDENT) {
        diag *d = parse_error(p, K1001, t->at, "expected an expression, found '&&'");
        diag_label(d, t->at, "expected an expression here");
        diag_note(d, "GNU's '&&label' is not part of Kiln's C: use a switch, or a table of "
                     "functions");
    } else if (kind(p) == TOK_LBRACE && p->at && p->tokens[p->at - 1].kind == TOK_ASSIGN) {
        diag *d = parse_error(p, K1001, t->at, "a braced list is not a value");
        diag_label(d, t->at, "write the type before it: (TYPE){…}");
    } else {
        parse_expected(p, "an expression");
    }
    return poison_expr(p, t->at);
}

static ast_expr *parse_call(parser *p, ast_expr *callee)
{
    ast_expr *e = new_expr(p, E_CALL, callee->at);
    e->a = callee;
    span open = here(p);
    step(p);
    uint16_t height = 0;
    while (kind(p) != TOK_RPAREN && !p->is_panicking) {
        ast_expr *arg = parse_assign(p);
        vec_push(p->f->in, &e->args, arg);
        height = arg->height > height ? arg->height : height;
        if (!accept(p, TOK_COMMA))
            break;
        if (kind(p) == TOK_RPAREN)
            parse_expected(p, "an argument after ','");
    }
    expect_close(p, TOK_RPAREN, open);
    e->at = span_join(e->at, previous(p));
    e->height = height ? height + 1 : 1;
    return finish(p, e);
}

static ast_expr *parse_member(parser *p, ast_expr *of)
{
    ast_expr *e = new_expr(p, E_MEMBER, of->at);
    e->is_arrow = kind(p) == TOK_ARROW;
    e->op_at = here(p);
    e->a = of;
    step(p);
    if (tok(p)->kind != TOK_IDENT) {
        parse_expected(p, "the name of a member");
        return poison_expr(p, e->at);
    }
    e->name = tok(p)->name;
    step(p);
    e->at = span_join(e->at, previous(p));
    return finish(p, e);
}

static ast_expr *parse_suffixes(parser *p, ast_expr *e)
{
    while (!p->is_panicking) {
        span at = here(p);
        switch (kind(p)) {
        case TOK_LPAREN: e = parse_call(p, e); break;
        case TOK_DOT:
        case TOK_ARROW: e = parse_member(p, e); break;
        case TOK_LBRACKET: {
            ast_expr *index = new_expr(p, E_INDEX, e->at);
            step(p);
            index->a = e;
            index->b = parse_expr(p);
            expect_close(p, TOK_RBRACKET, at);
            index->at = span_join(e->at, previous(p));
            e = finish(p, index);
            break;
        }
        case TOK_INC:
        case TOK_DEC: {
            ast_expr *change = new_expr(p, E_INCDEC, span_join(e->at, at));
            change->op = tok(p)->kind;
            change->op_at = at;
            change->is_postfix = true;
            change->a = e;
            step(p);
            e = finish(p, change);
            break;
        }
        default: return e;
        }
    }
    return e;
}

// --- unary

static ast_expr *parse_unary(parser *p);

// Stands at '(' before a type.
static ast_expr *parse_cast(parser *p)
{
    span open = here(p);
    step(p);
    const type *to = parse_type_name(p);
    expect_close(p, TOK_RPAREN, open);
    if (kind(p) == TOK_LBRACE) {
        ast_expr *e = new_expr(p, E_COMPOUND, open);
        e->cast_type = to;
        e->a = parse_init(p);
        e->at = span_join(open, e->a->at);
        return parse_suffixes(p, finish(p, e));
    }
    ast_expr *e = new_expr(p, E_CAST, open);
    e->cast_type = to;
    e->a = parse_unary(p);
    e->op_at = span_join(open, open);
    e->at = span_join(open, e->a->at);
    return finish(p, e);
}

static ast_expr *parse_sizeof(parser *p, expr_kind k)
{
    ast_expr *e = new_expr(p, k, here(p));
    step(p);
    bool is_type = false;
    if (kind(p) == TOK_LPAREN) {
        parser look = *p;
        step(&look);
        is_type = starts_type_name(&look);
    }
    if (is_type) {
        span open = here(p);
        uint32_t start = p->at;
        step(p);
        e->cast_type = parse_type_name(p);
        expect_close(p, TOK_RPAREN, open);
        if (kind(p) == TOK_LBRACE && !p->is_panicking) { // sizeof (T){…}
            e->cast_type = NULL;
            p->at = start;
            e->a = parse_cast(p);
        }
    } else {
        e->a = parse_unary(p);
    }
    e->at = span_join(e->at, previous(p));
    return finish(p, e);
}

static ast_expr *parse_prefix(parser *p, expr_kind k)
{
    ast_expr *e = new_expr(p, k, here(p));
    e->op = tok(p)->kind;
    e->op_at = here(p);
    step(p);
    e->a = parse_unary(p);
    e->at = span_join(e->op_at, e->a->at);
    return finish(p, e);
}

static ast_expr *parse_unary_inner(parser *p)
{
    while (is_word(p, W_EXTENSION))
        step(p);
    switch (kind(p)) {
    case TOK_PLUS:
    case TOK_MINUS:
    case TOK_TILDE:
    case TOK_NOT:
    case TOK_STAR:
    case TOK_AMP: return parse_prefix(p, E_UNARY);
    case TOK_INC:
    case TOK_DEC: return parse_prefix(p, E_INCDEC);
    case TOK_SIZEOF: return parse_sizeof(p, E_SIZEOF);
    case TOK_ALIGNOF: return parse_sizeof(p, E_ALIGNOF);
    case TOK_LPAREN: {
        parser look = *p;
        step(&look);
        if (starts_type_name(&look))
            return parse_cast(p);
        break;
    default: break;
    }
    }
    return parse_suffixes(p, parse_primary(p));
}

static ast_expr *parse_unary(parser *p)
{
    ast_expr *e = enter(p) ? parse_unary_inner(p) : poison_expr(p, here(p));
    leave(p);
    return e;
}

// --- binary and up

static const uint8_t precedence[TOK_KIND_COUNT] = {
    [TOK_STAR] = 10, [TOK_SLASH] = 10, [TOK_PERCENT] = 10, [TOK_PLUS] = 9, [TOK_MINUS] = 9,
    [TOK_SHL] = 8,   [TOK_SHR] = 8,    [TOK_LT] = 7,       [TOK_GT] = 7,   [TOK_LE] = 7,
    [TOK_GE] = 7,    [TOK_EQ] = 6,     [TOK_NE] = 6,       [TOK_AMP] = 5,  [TOK_CARET] = 4,
    [TOK_PIPE] = 3,  [TOK_ANDAND] = 2, [TOK_OROR] = 1,
};

static ast_expr *parse_binary(parser *p, unsigned at_least)
{
    ast_expr *left = parse_unary(p);
    while (!p->is_panicking) {
        unsigned power = precedence[kind(p)];
        if (!power || power < at_least)
            break;
        ast_expr *e = new_expr(p, E_BINARY, left->at);
        e->op = tok(p)->kind;
        e->op_at = here(p);
        step(p);
        e->a = left;
        e->b = parse_binary(p, power + 1);
        e->at = span_join(left->at, e->b->at);
        left = finish(p, e);
    }
    return left;
}

ast_expr *parse_cond(parser *p)
{
    ast_expr *condition = parse_binary(p, 1);
    if (kind(p) != TOK_QUESTION || p->is_panicking)
        return condition;
    ast_expr *e = new_expr(p, E_COND, condition->at);
    e->op_at = here(p);
    step(p);
    e->a = condition;
    if (!enter(p)) {
        leave(p);
        return poison_expr(p, e->at);
    }
    if (kind(p) == TOK_COLON) {
        diag *d =
            parse_error(p, K1001, span_join(e->op_at, here(p)), "'?' needs a value before ':'");
        diag_label(d, span_join(e->op_at, here(p)), "GNU's 'a ?: b' is not part of Kiln's C");
        diag_note(d, "write a ? a : b, with a in a variable where it does something");
    }
    e->b = parse_expr(p);
    expect(p, TOK_COLON, "the first result of '?'");
    e->c = parse_cond(p);
    leave(p);
    e->at = span_join(condition->at, e->c->at);
    return p->is_panicking ? poison_expr(p, e->at) : finish(p, e);
}

static ast_expr *parse_assign_inner(parser *p)
{
    ast_expr *left = parse_cond(p);
    token_kind op = kind(p);
    if (op < TOK_ASSIGN || op > TOK_PIPE_EQ || p->is_panicking)
        return left;
    ast_expr *e = new_expr(p, E_ASSIGN, left->at);
    e->op = (uint8_t)op;
    e->op_at = here(p);
    step(p);
    e->a = left;
    e->b = parse_assign(p);
    e->at = span_join(left->at, e->b->at);
    return finish(p, e);
}

ast_expr *parse_assign(parser *p)
{
    ast_expr *e = enter(p) ? parse_assign_inner(p) : poison_expr(p, here(p));
    leave(p);
    return e;
}

ast_expr *parse_expr(parser *p)
{
    ast_expr *e = parse_assign(p);
    while (kind(p) == TOK_COMMA && !p->is_panicking) {
        ast_expr *comma = new_expr(p, E_COMMA, e->at);
        comma->op_at = here(p);
        step(p);
        comma->a = e;
        comma->b = parse_assign(p);
        comma->at = span_join(e->at, comma->b->at);
        e = finish(p, comma);
    }
    return e;
}

// --- initialisers

static struct designator *parse_designators(parser *p)
{
    struct designator *first = NULL, **last = &first;
    if (tok(p)->kind == TOK_IDENT && kind_ahead(p, 1) == TOK_COLON) { // GNU's old {x: 1}
        first = arena_new_of(p->f->in, struct designator);
        *first = (struct designator){.at = here(p), .field = tok(p)->name};
        p->at += 2;
        return first;
    }
    while ((kind(p) == TOK_DOT || kind(p) == TOK_LBRACKET) && !p->is_panicking) {
        struct designator *d = arena_new_of(p->f->in, struct designator);
        d->at = here(p);
        if (accept(p, TOK_DOT)) {
            if (tok(p)->kind == TOK_IDENT)
                d->field = tok(p)->name;
            else
                parse_expected(p, "the name of a member after '.'");
            step(p);
        } else {
            step(p);
            d->index = parse_cond(p);
            if (!p->is_panicking && accept(p, TOK_ELLIPSIS))
                d->last = parse_cond(p);
            expect_close(p, TOK_RBRACKET, d->at);
        }
        d->at = span_join(d->at, previous(p));
        *last = d;
        last = &d->next;
    }
    if (first)
        expect(p, TOK_ASSIGN, "the designator");
    return first;
}

typedef struct range_state {
    ast_expr *list;
    uint32_t value; // token index
} range_state;

// A chain like `from` with one index in the place of the range at `at`. Gives the new place.
static struct designator *fix_index(parser *p, init_item *item, const struct designator *at,
                                    int64_t index)
{
    struct designator *found = NULL, **last = &item->designators;
    for (const struct designator *d = item->designators; d; d = d->next) {
        struct designator *copy = arena_new_of(p->f->in, struct designator);
        *copy = *d;
        if (d == at) {
            found = copy;
            copy->index = int_expr(p, d->index->at, (uint64_t)index, TY_I64);
            copy->last = NULL;
        }
        *last = copy;
        last = &copy->next;
    }
    return found;
}

// An item for every element that GNU's `[0 ... 2] = value` names. Its value is parsed for each of
// them anew, because checking changes a tree.
static void expand_ranges(parser *p, const range_state *r, init_item item, struct designator *d)
{
    while (d && !d->last)
        d = d->next;
    if (!d) {
        p->at = r->value;
        item.value = parse_init(p);
        item.is_repeated = true;
        vec_push(p->f->in, &r->list->items, item);
        return;
    }
    int64_t first = 0, last = 0;
    if (!check_const_int(p->f, d->index, &first, "an array designator") ||
        !check_const_int(p->f, d->last, &last, "an array designator"))
        return;
    uint64_t room = PARSE_MAX_LIST - (uint64_t)r->list->items.len;
    if (last < first || r->list->items.len > PARSE_MAX_LIST ||
        (uint64_t)last - (uint64_t)first >= room) {
        span at = span_join(d->index->at, d->last->at);
        diag *report = diag_raise(p->f->diags, K1045, at, "this range names %s elements",
                                  last < first ? "no" : "too many");
        diag_label(report, at, "from %lld to %lld; a list has at most %d values", (long long)first,
                   (long long)last, PARSE_MAX_LIST);
        diag_note(report, "set the elements in a loop");
        last = first; // so that an open array gets a length
    }
    for (int64_t i = first; i <= last && !p->is_panicking; i++) {
        init_item one = item;
        struct designator *place = fix_index(p, &one, d, i);
        expand_ranges(p, r, one, place->next);
    }
}

static bool names_range(const struct designator *d)
{
    while (d && !d->last)
        d = d->next;
    return d != NULL;
}

static ast_expr *parse_braces(parser *p)
{
    ast_expr *e = new_expr(p, E_INIT_LIST, here(p));
    step(p);
    uint16_t height = 0;
    while (kind(p) != TOK_RBRACE && !p->is_panicking) {
        init_item item = {.designators = parse_designators(p)};
        range_state range = {.list = e, .value = p->at};
        item.value = parse_init(p);
        height = item.value->height > height ? item.value->height : height;
        uint32_t end = p->at;
        if (names_range(item.designators) && !p->is_panicking) {
            expand_ranges(p, &range, item, item.designators);
            p->at = end;
        } else {
            vec_push(p->f->in, &e->items, item);
        }
        if (!accept(p, TOK_COMMA))
            break;
    }
    expect_close(p, TOK_RBRACE, e->at);
    e->at = span_join(e->at, previous(p));
    e->height = (uint16_t)(height + 1);
    return finish(p, e);
}

ast_expr *parse_init(parser *p)
{
    if (kind(p) != TOK_LBRACE)
        return parse_assign(p);
    ast_expr *e = enter(p) ? parse_braces(p) : poison_expr(p, here(p));
    leave(p);
    return e;
}
