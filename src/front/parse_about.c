// Expressions about types that are known when they are parsed: offsetof, and GNU's
// __builtin_types_compatible_p. Each becomes a number. Start at parse_offsetof.
#include "front/check.h"
#include "front/parse.h"

// One step into a type: .name or [index]. The poison type after an error.
static const type *step_into(parser *p, const type *t, bool is_first, uint64_t *offset)
{
    span at = here(p);
    if (!is_first && accept(p, TOK_LBRACKET)) {
        int64_t index = 0;
        ast_expr *e = parse_cond(p);
        expect_close(p, TOK_RBRACKET, at);
        if (p->is_panicking || !check_const_int(p->f, e, &index, "index in offsetof"))
            return type_scalar(TY_POISON);
        bool fits =
            t->kind == TY_ARRAY && index >= 0 && ((uint64_t)index <= t->len || t->is_incomplete);
        *offset += fits ? (uint64_t)index * type_size(t->base) : 0;
        if (fits || t->kind == TY_POISON)
            return fits ? t->base : t;
    } else {
        if (!is_first)
            expect(p, TOK_DOT, NULL);
        uint64_t inner = 0;
        at = here(p);
        const char *name = tok(p)->kind == TOK_IDENT ? tok(p)->name : NULL;
        const field *f = name && type_is_record(t) ? type_find_field(t, name, &inner) : NULL;
        step(p);
        *offset += inner;
        if (f && f->bits) {
            diag *d = parse_error(p, K1052, at, "offsetof of a bit-field is not possible");
            diag_label(d, at, "it starts at a bit, not at a byte");
            return type_scalar(TY_POISON);
        }
        if (f || t->kind == TY_POISON)
            return f ? f->type : t;
    }
    diag *d = parse_error(p, K1052, at, "'%s' has no such part", type_text(p->f->in, t));
    diag_label(d, at, "offsetof needs a member that exists, and indices inside the array");
    return type_scalar(TY_POISON);
}

ast_expr *parse_offsetof(parser *p)
{
    span at = here(p);
    step(p);
    span open = here(p);
    step(p);
    const type *t = parse_type_name(p);
    uint64_t offset = 0;
    if (expect(p, TOK_COMMA, "the type")) {
        t = step_into(p, t, true, &offset);
        while ((kind(p) == TOK_DOT || kind(p) == TOK_LBRACKET) && !p->is_panicking)
            t = step_into(p, t, false, &offset);
    }
    expect_close(p, TOK_RPAREN, open);
    at = span_join(at, previous(p));
    bool is_bad = p->is_panicking || t->kind == TY_POISON;
    return is_bad ? poison_expr(p, at) : int_expr(p, at, offset, TY_U64);
}

// GNU's __builtin_types_compatible_p(A, B): 1 when they are one type, but for their qualifiers.
ast_expr *parse_types_compatible(parser *p)
{
    span at = here(p);
    step(p);
    span open = here(p);
    step(p);
    const type *a = parse_type_name(p), *b = a;
    if (expect(p, TOK_COMMA, "the type"))
        b = parse_type_name(p);
    expect_close(p, TOK_RPAREN, open);
    at = span_join(at, previous(p));
    if (p->is_panicking || a->kind == TY_POISON || b->kind == TY_POISON)
        return poison_expr(p, at);
    bool is_same = type_composite(a->unqualified, b->unqualified) != NULL;
    return int_expr(p, at, is_same, TY_I32);
}
