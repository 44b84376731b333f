// The parser's cursor: tokens in, one token looked at at a time; what is reported when the wrong
// one stands there, and where parsing goes on after that. Invariant: a loop of the parser either
// steps or stops; in a panic nothing steps but the skip functions. Start reading at parse_error and
// skip_statement.
#include "front/parse.h"

static const token_kind word_tokens[W_COUNT] = {
#define WORD(name, spelling, token) [W_##name] = TOK_##token,
#include "front/word.def"
#undef WORD
};

static const char *const word_spellings[W_COUNT] = {
#define WORD(name, spelling, token) [W_##name] = spelling,
#include "front/word.def"
#undef WORD
};

parse_common *parse_common_of(front *f)
{
    if (f->parse)
        return f->parse;
    parse_common *c = f->parse = arena_new_of(f->in, parse_common);
    c->word_of = map_make(f->in);
    c->types = map_make(f->in);
    c->host_tags = map_make(f->in);
    c->header_names = map_make(f->in);
    for (int w = 1; w < W_COUNT; w++) {
        c->words[w] = name_cstr(f->names, word_spellings[w]);
        *map_at(&c->word_of, map_key(c->words[w])) = (uint64_t)w;
    }
    return c;
}

parser parser_make(front *f, const token *tokens, uint32_t at, uint32_t end, scope *s)
{
    parser p = {.f = f, .tokens = tokens, .at = at, .end = end, .scope = s, .file_scope = s};
    p.common = parse_common_of(f);
    p.stop = (token){.kind = TOK_EOF, .at = tokens[end].at, .flags = TF_LINE_START};
    return p;
}

const token *tok_ahead(const parser *p, uint32_t by)
{
    return p->end - p->at > by ? &p->tokens[p->at + by] : &p->stop;
}

static token_kind keyword_of(const parser *p, const token *t)
{
    if (t->kind != TOK_IDENT)
        return (token_kind)t->kind;
    char first = t->name[0];
    if (first != '_' && first != 's' && first != 'a' && first != 'n')
        return TOK_IDENT;
    const uint64_t *w = map_find(&p->common->word_of, map_key(t->name));
    return w && word_tokens[*w] ? word_tokens[*w] : TOK_IDENT;
}

token_kind kind(const parser *p)
{
    return keyword_of(p, tok(p));
}

token_kind kind_ahead(const parser *p, uint32_t by)
{
    return keyword_of(p, tok_ahead(p, by));
}

span here(const parser *p)
{
    return tok(p)->at;
}

span previous(const parser *p)
{
    return p->at ? p->tokens[p->at - 1].at : here(p);
}

void step(parser *p)
{
    if (p->at < p->end)
        p->at++;
}

bool accept(parser *p, token_kind k)
{
    if (kind(p) != k)
        return false;
    step(p);
    return true;
}

const char *found(const parser *p)
{
    const token *t = tok(p);
    if (t->kind == TOK_EOF)
        return p->tokens[p->end].kind == TOK_EOF ? "the end of the file"
                                                 : "the end of the function";
    if (t->kind == TOK_IDENT)
        return str_format(p->f->in, "'%s'", t->name);
    if (t->kind == TOK_PRAGMA)
        return "a #pragma";
    str s = source_text(p->f->sources, t->at);
    bool is_literal = t->kind == TOK_INT || t->kind == TOK_FLOAT || t->kind == TOK_CHAR ||
                      t->kind == TOK_STRING || t->kind == TOK_OTHER;
    if (is_literal && s.len && s.len < 40)
        return str_format(p->f->in, "'%.*s'", (int)s.len, s.at);
    return token_kind_spelling((token_kind)t->kind);
}

diag *parse_error(parser *p, diag_code code, span at, const char *format, ...)
{
    diags *ds = p->f->diags;
    if (p->is_panicking) {
        diag *nowhere = arena_new_of(p->f->in, diag);
        nowhere->owner = ds;
        return nowhere;
    }
    p->is_panicking = p->had_error = true;
    va_list args;
    va_start(args, format);
    const char *message = str_vformat(p->f->in, format, args);
    va_end(args);
    return diag_raise(ds, code, at, "%s", message);
}

void parse_expected(parser *p, const char *what)
{
    const token *t = tok(p);
    for (uint32_t i = 0; i < p->f->diags->list.len; i++) {
        span known = p->f->diags->list.at[i]->raised;
        if (t->kind != TOK_EOF && known.lo >= t->at.lo && known.hi <= t->at.hi)
            p->is_panicking = true; // the token itself was found wrong when it was read
    }
    if (complain_cpp(p))
        return;
    diag *d = parse_error(p, K1001, t->at, "expected %s, found %s", what, found(p));
    diag_label(d, t->at, "expected %s here", what);
}

static span end_of_previous(const parser *p)
{
    uint32_t end = previous(p).hi;
    return (span){end, end};
}

bool expect(parser *p, token_kind k, const char *after)
{
    if (accept(p, k))
        return true;
    if (!p->is_panicking) {
        const char *spelled = token_kind_spelling(k);
        parse_expected(p, after ? str_format(p->f->in, "%s after %s", spelled, after) : spelled);
    }
    return false;
}

void expect_semi(parser *p, const char *after)
{
    if (accept(p, TOK_SEMI)) {
        p->is_panicking = false; // the error was before it, in the same statement
        return;
    }
    if (p->is_panicking || complain_cpp(p))
        return;
    const token *t = tok(p);
    bool goes_on = (t->flags & TF_LINE_START) || t->kind == TOK_RBRACE;
    span at = end_of_previous(p);
    diag *d = parse_error(p, K1002, at, "missing ';' after %s", after);
    diag_label(d, at, "a ';' belongs here");
    if (goes_on)
        diag_fix(d, at, "insert the ';'", ";");
    else
        diag_note(d, "%s cannot follow here", found(p));
    p->is_panicking = !goes_on; // on the next line all is well again
}

static diag *find_bracket_diag(const parser *p, span open, uint32_t *index)
{
    const diags *ds = p->f->diags;
    for (uint32_t i = 0; i < ds->list.len; i++) {
        diag *d = ds->list.at[i];
        if (d->code == K0015 && d->raised.lo == open.lo) {
            *index = i;
            return d;
        }
    }
    return NULL;
}

// The partner of this brace closed another one, so that an outer brace had none left.
static diag *find_outer_brace_diag(const parser *p, span open)
{
    const diags *ds = p->f->diags;
    diag *best = NULL;
    for (uint32_t i = 0; i < ds->list.len; i++) {
        diag *d = ds->list.at[i];
        if (d->code != K0015 || d->raised.lo >= open.lo || (best && d->raised.lo < best->raised.lo))
            continue;
        if (str_same(source_text(p->f->sources, d->at), STR("{")))
            best = d;
    }
    return best;
}

// The preprocessor has reported every bracket without a partner; here more is known about the
// place, so its record is taken over.
static diag *bracket_diag(parser *p, span open, span at, const char *spelled)
{
    uint32_t index = 0;
    diag *d = find_bracket_diag(p, open, &index);
    if (!d && !strcmp(spelled, "'}'"))
        d = find_outer_brace_diag(p, open);
    if (!d)
        return parse_error(p, K1003, at, "missing %s", spelled);
    d->code = K1003;
    d->uses.len = 0;
    diag_move(d, at);
    d->message = str_format(p->f->in, "missing %s", spelled);
    d->labels.len = 0;
    p->is_panicking = true;
    return d;
}

// After another error inside the brackets, that they are not closed is no news.
static void drop_bracket_diag(parser *p, span open)
{
    diags *ds = p->f->diags;
    uint32_t i = 0;
    if (p->is_trial || !find_bracket_diag(p, open, &i))
        return;
    memmove(&ds->list.at[i], &ds->list.at[i + 1], (ds->list.len - i - 1) * sizeof ds->list.at[0]);
    ds->list.len--;
    ds->error_count--;
}

bool expect_close(parser *p, token_kind k, span open)
{
    if (accept(p, k))
        return true;
    if (p->is_panicking) {
        if (p->had_error) // else the bracket is all that was said
            drop_bracket_diag(p, open);
        return false;
    }
    if (complain_cpp(p)) {
        drop_bracket_diag(p, open);
        return false;
    }
    const char *spelled = token_kind_spelling(k);
    const token *t = tok(p);
    span at = end_of_previous(p);
    diag *d = bracket_diag(p, open, at, spelled);
    diag_label(d, at, "%s was expected before %s", spelled, found(p));
    diag_label(d, open, "to close this one");
    bool goes_on = t->kind == TOK_SEMI || t->kind == TOK_LBRACE || t->kind == TOK_RBRACE ||
                   t->kind == TOK_EOF || (t->flags & TF_LINE_START);
    if (goes_on) // elsewhere an operator or a comma may be what is missing
        diag_fix(d, at, "insert it", "%s%.*s", k == TOK_RBRACE ? "\n" : "",
                 (int)strlen(spelled) - 2, spelled + 1);
    p->is_panicking = !goes_on;
    return false;
}

int32_t parse_pragma(parser *p)
{
    const token *t = tok(p);
    step(p);
    if (t->name == p->common->words[W_CONVERSIONS])
        p->f->lax_conversions = t->number != 0;
    if (t->name == p->common->words[W_SHIFTS])
        p->f->shifts = t->number ? SHIFT_CLAMP : SHIFT_WRAP;
    if (t->name == p->common->words[W_VARIABLES])
        p->f->has_thread_variables = t->number != 0;
    if (t->name == p->common->words[W_EARLY_RETURN])
        p->f->allows_early_return = t->number != 0;
    if (t->name == p->common->words[W_PACKED])
        p->common->pack = (uint32_t)t->number;
    if (t->name == p->common->words[W_SCALAR_STORAGE_ORDER])
        p->common->order_at = t->number ? t->at : (span){0, 0};
    if (t->number || t->name != p->common->words[W_UNROLL])
        return t->number;
    span open = here(p);
    step(p);
    int64_t count = 0;
    ast_expr *e = parse_cond(p);
    bool is_good = !p->is_panicking && check_const_int(p->f, e, &count, "count of #pragma unroll");
    expect_close(p, TOK_RPAREN, open);
    if (is_good && (count < 1 || count > 65536)) {
        diag *d = diag_raise(p->f->diags, K0048, t->at,
                             "the count of #pragma unroll must be between 1 and 65536");
        diag_label(d, e->at, "this is %lld; 1 means: do not unroll", (long long)count);
    }
    return count < 1 || count > 65536 ? 1 : (int32_t)count;
}

void skip_to_close(parser *p, uint32_t open_index)
{
    uint32_t close = p->tokens[open_index].match;
    if (close > open_index && close < p->end)
        p->at = close;
    else if (p->at <= open_index)
        p->at = open_index + 1;
}

static bool starts_line_of_its_own(const parser *p)
{
    const token *t = tok(p);
    if (!(t->flags & TF_LINE_START))
        return false;
    switch (kind(p)) {
    case TOK_IF:
    case TOK_FOR:
    case TOK_WHILE:
    case TOK_DO:
    case TOK_SWITCH:
    case TOK_RETURN:
    case TOK_BREAK:
    case TOK_CONTINUE:
    case TOK_CASE:
    case TOK_DEFAULT:
    case TOK_SHARED: return true;
    default: break;
    }
    return false;
}

// To the place where the next statement can start: after a ';', after a block, before a '}', at a
// line that starts with a statement's keyword.
void skip_statement(parser *p)
{
    p->is_panicking = false;
    for (bool first = true; p->at < p->end; first = false) {
        const token *t = tok(p);
        if (t->kind == TOK_RBRACE || (!first && starts_line_of_its_own(p)))
            return;
        bool opens = t->kind == TOK_LPAREN || t->kind == TOK_LBRACKET || t->kind == TOK_LBRACE;
        if (opens && t->match > p->at && t->match < p->end) {
            p->at = t->match + 1;
            if (t->kind == TOK_LBRACE && kind(p) != TOK_SEMI)
                return;
            continue;
        }
        step(p);
        if (t->kind == TOK_SEMI)
            return;
    }
}

bool enter(parser *p)
{
    if (p->depth++ < PARSE_MAX_DEPTH)
        return true;
    p->is_panicking |= p->was_deep; // said once in a function
    p->was_deep = true;
    diag *d =
        parse_error(p, K1007, here(p), "this is nested more than %d levels deep", PARSE_MAX_DEPTH);
    diag_note(d, "split the expression, or move the inner part into a function of its own");
    return false;
}

void leave(parser *p)
{
    p->depth--;
}
