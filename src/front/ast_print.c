// The checked tree as text (kiln show --stage ast): tunables, shared variables, then every kernel
// and every function it reaches, one node a line, two spaces a level, "line:column" first on the
// right. Invariant: the same source gives the same text; nothing depends on addresses. Start
// reading at ast_print.
#include "front/front.h"

typedef struct printer {
    front *f;
    text *out;
} printer;

static const char *const expr_names[E_KIND_COUNT] = {
    [E_POISON] = "poison",     [E_INT] = "int",        [E_FLOAT] = "float",
    [E_STRING] = "string",     [E_NAME] = "name",      [E_UNARY] = "unary",
    [E_INCDEC] = "change",     [E_BINARY] = "binary",  [E_ASSIGN] = "assign",
    [E_COND] = "cond",         [E_COMMA] = "comma",    [E_CALL] = "call",
    [E_INDEX] = "index",       [E_MEMBER] = "member",  [E_CAST] = "cast",
    [E_CONVERT] = "convert",   [E_SIZEOF] = "sizeof",  [E_ALIGNOF] = "alignof",
    [E_COMPOUND] = "compound", [E_INIT_LIST] = "init", [E_GENERIC] = "generic",
    [E_STMT] = "statements",
};

static const char *const convert_names[] = {
    [CONVERT_NOOP] = "noop",           [CONVERT_LOAD] = "load",   [CONVERT_DECAY] = "decay",
    [CONVERT_TO_BOOL] = "bool",        [CONVERT_INT] = "int",     [CONVERT_INT_FLOAT] = "int-float",
    [CONVERT_FLOAT_INT] = "float-int", [CONVERT_FLOAT] = "float", [CONVERT_PTR_INT] = "ptr-int",
    [CONVERT_INT_PTR] = "int-ptr",
};

static void indent(printer *p, int level)
{
    for (int i = 0; i < level; i++)
        text_puts(p->out, "  ");
}

static void end_line(printer *p, span at)
{
    if (at.lo) {
        source_place place = source_find(p->f->sources, at.lo);
        text_printf(p->out, "  @%u:%u", place.line, place.column);
    }
    text_putc(p->out, '\n');
}

static void put_type(printer *p, const type *t)
{
    if (t)
        text_printf(p->out, " : %s", type_text(p->f->in, t));
}

static void put_bytes(text *out, str s)
{
    text_puts(out, " \"");
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if (c < 32 || c == '"' || c == '\\' || c > 126)
            text_printf(out, "\\%03o", c);
        else
            text_putc(out, (char)c);
    }
    text_putc(out, '"');
}

static void put_operator(printer *p, uint8_t op)
{
    const char *spelled = token_kind_spelling((token_kind)op);
    size_t len = strlen(spelled);
    if (len > 2 && spelled[0] == '\'')
        text_printf(p->out, " %.*s", (int)len - 2, spelled + 1);
}

// What a node says beside its kind, type and children.
static void put_detail(printer *p, const ast_expr *e)
{
    text *out = p->out;
    switch ((expr_kind)e->kind) {
    case E_INT:
        if (e->type && !type_is_signed(e->type))
            text_printf(out, " %llu", (unsigned long long)e->integer);
        else
            text_printf(out, " %lld", (long long)e->integer);
        break;
    case E_FLOAT: text_printf(out, " %.17g", e->real); break;
    case E_STRING: put_bytes(out, e->bytes); break;
    case E_NAME: text_printf(out, " %s", e->name); break;
    case E_MEMBER:
        text_printf(out, " %s%s +%llu", e->is_arrow ? "->" : ".", e->name,
                    (unsigned long long)e->field_offset);
        break;
    case E_UNARY:
    case E_BINARY: put_operator(p, e->op); break;
    case E_ASSIGN:
        put_operator(p, e->op);
        if (e->compute_type)
            text_printf(out, " in %s", type_text(p->f->in, e->compute_type));
        break;
    case E_INCDEC:
        text_puts(out, e->is_postfix ? " postfix" : " prefix");
        put_operator(p, e->op);
        break;
    case E_CONVERT: text_printf(out, " %s", convert_names[e->convert]); break;
    case E_CALL:
        if (e->callee_decl)
            text_printf(out, " %s", e->callee_decl->name);
        else if (e->builtin)
            text_printf(out, " builtin %s", e->builtin->name);
        if (e->builtin_type)
            text_printf(out, " T=%s", type_text(p->f->in, e->builtin_type));
        break;
    case E_CAST:
    case E_POISON:
    case E_COND:
    case E_COMMA:
    case E_INDEX:
    case E_SIZEOF:
    case E_ALIGNOF:
    case E_COMPOUND:
    case E_INIT_LIST:
    case E_GENERIC:
    case E_STMT:
    case E_KIND_COUNT: break;
    }
}

static void print_stmt(printer *p, const ast_stmt *s, int level);

static void print_expr(printer *p, const ast_expr *e, int level)
{
    if (!e)
        return;
    indent(p, level);
    text_puts(p->out, expr_names[e->kind]);
    put_detail(p, e);
    put_type(p, e->type);
    end_line(p, e->at);
    bool names_callee = e->kind == E_CALL && (e->callee_decl || e->builtin);
    if (!names_callee)
        print_expr(p, e->a, level + 1);
    print_expr(p, e->b, level + 1);
    print_expr(p, e->c, level + 1);
    if (e->kind == E_STMT)
        print_stmt(p, e->block, level + 1);
    for (uint32_t i = 0; i < e->args.len; i++)
        print_expr(p, e->args.at[i], level + 1);
    for (uint32_t i = 0; i < e->inits.len; i++) {
        indent(p, level + 1);
        text_printf(p->out, "at byte %llu\n", (unsigned long long)e->inits.at[i].offset);
        print_expr(p, e->inits.at[i].value, level + 2);
    }
}

static void print_var(printer *p, const ast_decl *d, int level)
{
    indent(p, level);
    text_printf(p->out, "%s%s%s %s", d->is_shared ? "shared " : "",
                d->is_const_data ? "constant " : "", d->kind == DECL_PARAM ? "param" : "var",
                d->name ? d->name : "(unnamed)");
    put_type(p, d->type);
    if (d->align)
        text_printf(p->out, " align %u", d->align);
    end_line(p, d->at);
    print_expr(p, d->init, level + 1);
}

static const char *stmt_name(const ast_stmt *s)
{
    static const char *const names[] = {
        [S_EMPTY] = "empty",     [S_EXPR] = "do",
        [S_DECL] = "decl",       [S_BLOCK] = "block",
        [S_IF] = "if",           [S_WHILE] = "while",
        [S_DO] = "do-while",     [S_FOR] = "for",
        [S_SWITCH] = "switch",   [S_CASE] = "case",
        [S_DEFAULT] = "default", [S_BREAK] = "break",
        [S_RETURN] = "return",   [S_CONTINUE] = "continue",
        [S_LABEL] = "label",     [S_GOTO] = "goto",
    };
    return names[s->kind];
}

static void print_stmt(printer *p, const ast_stmt *s, int level)
{
    if (!s)
        return;
    indent(p, level);
    text_puts(p->out, stmt_name(s));
    if (s->kind == S_CASE)
        text_printf(p->out, " %lld", (long long)s->value);
    if (s->label)
        text_printf(p->out, " %s", s->label->name);
    if (s->unroll)
        text_printf(p->out, " unroll %d", s->unroll);
    end_line(p, s->at);
    print_stmt(p, s->init, level + 1);
    if (s->kind != S_DO)
        print_expr(p, s->expr, level + 1);
    print_expr(p, s->step, level + 1);
    for (uint32_t i = 0; i < s->decls.len; i++)
        print_var(p, s->decls.at[i], level + 1);
    print_stmt(p, s->yes, level + 1);
    if (s->no) {
        indent(p, level);
        text_puts(p->out, "else\n");
        print_stmt(p, s->no, level + 1);
    }
    if (s->kind == S_DO)
        print_expr(p, s->expr, level + 1);
    for (uint32_t i = 0; i < s->body.len; i++)
        print_stmt(p, s->body.at[i], level + 1);
}

static void put_sizes(printer *p, const char *mark, const uint32_t n[3])
{
    if (n[0])
        text_printf(p->out, " %s(%u, %u, %u)", mark, n[0], n[1], n[2]);
}

static void print_func(printer *p, const ast_decl *d)
{
    text_printf(p->out, "%s %s", d->is_kernel ? "kernel" : "function", d->name);
    put_sizes(p, "block", d->block);
    put_sizes(p, "cluster", d->cluster);
    if (d->min_blocks)
        text_printf(p->out, " min_blocks(%u)", d->min_blocks);
    if (d->max_threads)
        text_printf(p->out, " max_threads(%u)", d->max_threads);
    if (d->max_registers)
        text_printf(p->out, " max_registers(%u)", d->max_registers);
    text_printf(p->out, " : %s", type_text(p->f->in, d->type->base));
    end_line(p, d->at);
    for (uint32_t i = 0; i < d->params.len; i++)
        print_var(p, d->params.at[i], 1);
    print_stmt(p, d->body, 1);
}

void ast_print(front *f, text *out)
{
    printer p = {f, out};
    for (uint32_t i = 0; i < f->tunables.len; i++) {
        const ast_decl *d = f->tunables.at[i];
        text_printf(out, "tune %s = %lld of", d->name, (long long)d->value);
        for (uint32_t k = 0; k < d->tune_values.len; k++)
            text_printf(out, " %lld", (long long)d->tune_values.at[k]);
        end_line(&p, d->at);
    }
    for (uint32_t i = 0; i < f->shared_vars.len; i++)
        if (f->shared_vars.at[i]->is_file_scope)
            print_var(&p, f->shared_vars.at[i], 0);
    for (uint32_t i = 0; i < f->kernels.len; i++)
        print_func(&p, f->kernels.at[i]);
    for (uint32_t i = 0; i < f->reached.len; i++)
        print_func(&p, f->reached.at[i]);
}
