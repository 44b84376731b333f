// __VA_OPT__(…) in the body of a variadic macro: what stands in it is there when tokens stand for
// the dots. A use first chooses its body here; parameters, # and ## are then replaced in that one
// (pp_macro.c). Invariant: after pp_opt_check every __VA_OPT__ has its parentheses.
#include "front/pp.h"

static bool is_opt(pp *p, const token *t)
{
    return t->kind == TOK_IDENT && pp_ident(p, t->name)->word == WORD_VA_OPT;
}

// The parenthesis that closes the one at `open`; `len`: none.
static uint32_t find_close(const token *body, uint32_t len, uint32_t open)
{
    uint32_t depth = 0;
    for (uint32_t i = open; i < len; i++) {
        depth += body[i].kind == TOK_LPAREN;
        depth -= body[i].kind == TOK_RPAREN;
        if (!depth)
            return i;
    }
    return len;
}

static bool bad_opt(pp *p, const token *t, const char *why)
{
    diag *d = diag_raise(p->f->diags, K0045, t->at, "this __VA_OPT__ is malformed");
    diag_label(d, t->at, "%s", why);
    diag_note(d, "write __VA_OPT__(tokens that are there when arguments stand for '...')");
    return false;
}

static bool check_one(pp *p, const macro *m, uint32_t at, uint32_t close)
{
    for (uint32_t i = at + 2; i < close; i++) {
        bool is_edge = i == at + 2 || i + 1 == close;
        if (is_opt(p, &m->body[i]))
            return bad_opt(p, &m->body[i], "one in another has no meaning");
        if (m->body[i].kind == TOK_HASHHASH && is_edge)
            return bad_opt(p, &m->body[i], "'##' joins two tokens inside the parentheses");
    }
    return true;
}

bool pp_opt_check(pp *p, macro *m)
{
    for (uint32_t i = 0; i < m->body_len; i++) {
        const token *t = &m->body[i];
        if (!is_opt(p, t))
            continue;
        if (i + 1 == m->body_len || t[1].kind != TOK_LPAREN)
            return bad_opt(p, t, "no '(' follows");
        uint32_t close = find_close(m->body, m->body_len, i + 1);
        if (close == m->body_len)
            return bad_opt(p, t, "its '(' is not closed in the macro");
        if (!check_one(p, m, i, close))
            return false;
        m->has_opt = true;
        i = close;
    }
    return true;
}

void pp_opt_choose(pp *p, const macro *m, bool has_rest, token_list *out)
{
    for (uint32_t i = 0; i < m->body_len; i++) {
        token t = m->body[i];
        if (!is_opt(p, &t)) {
            vec_push(p->f->in, out, t);
            continue;
        }
        uint32_t close = find_close(m->body, m->body_len, i + 1), first = out->len;
        for (uint32_t k = i + 2; has_rest && k < close; k++)
            vec_push(p->f->in, out, m->body[k]);
        if (out->len == first) { // for a ## beside it
            t.kind = TOK_PLACEMARKER;
            vec_push(p->f->in, out, t);
        }
        token *begin = &out->at[first];
        begin->flags = (uint8_t)((begin->flags & ~TF_SPACE) | (t.flags & TF_SPACE));
        i = close;
    }
}
