// Macros: #define, and expansion with C's rescanning rules. A macro is not expanded again while its
// own replacement is being read (is_expanding); a name met in that time is painted (TF_NO_EXPAND)
// and stays what it is for good. Positions: the tokens of an expansion, arguments among them, get
// positions of their own that know the definition and the use (base/source.h). Start reading at
// pp_expand.
#include "front/pp.h"

// --- definitions

static bool same_body(const macro *a, const macro *b)
{
    if (a->is_function != b->is_function || a->is_variadic != b->is_variadic ||
        a->param_count != b->param_count || a->body_len != b->body_len)
        return false;
    for (uint32_t i = 0; i < a->param_count; i++)
        if (a->params[i] != b->params[i])
            return false;
    for (uint32_t i = 0; i < a->body_len; i++) {
        const token *x = &a->body[i], *y = &b->body[i];
        if (x->kind != y->kind || !str_same(lex_spelling(x), lex_spelling(y)) ||
            (i && (x->flags & TF_SPACE) != (y->flags & TF_SPACE)))
            return false;
    }
    return true;
}

static void add_param(pp *p, macro *m, const char *name)
{
    m->params = arena_grow(p->f->in, m->params, m->param_count * sizeof *m->params,
                           (m->param_count + 1) * sizeof *m->params);
    m->params[m->param_count++] = name;
}

static bool bad_params(pp *p, const token *t, const char *why)
{
    diag *d = diag_raise(p->f->diags, K0033, t->at, "the parameters of this macro are malformed");
    diag_label(d, t->at, "%s", why);
    diag_note(d, "write #define NAME(a, b) or #define NAME(a, ...)");
    return false;
}

// After the opening parenthesis.
static bool read_params(pp *p, lexer *l, macro *m)
{
    token t;
    const char *va_args = name_cstr(p->f->names, "__VA_ARGS__");
    if (!lex_next_in_line(l, &t))
        return bad_params(p, &t, "the line ends before ')'");
    while (t.kind != TOK_RPAREN) {
        if (t.kind == TOK_ELLIPSIS) {
            m->is_variadic = true;
            add_param(p, m, va_args);
        } else if (t.kind == TOK_IDENT) {
            for (uint32_t i = 0; i < m->param_count; i++)
                if (m->params[i] == t.name)
                    return bad_params(p, &t, "two parameters have this name");
            if (m->param_count >= 1000)
                return bad_params(p, &t, "too many parameters");
            add_param(p, m, t.name);
        } else {
            return bad_params(p, &t, "a parameter's name is expected here");
        }
        if (!lex_next_in_line(l, &t))
            return bad_params(p, &t, "the line ends before ')'");
        if (t.kind == TOK_ELLIPSIS && !m->is_variadic) { // GNU: name...
            m->is_variadic = true;
            if (!lex_next_in_line(l, &t))
                return bad_params(p, &t, "the line ends before ')'");
        }
        if (t.kind == TOK_RPAREN)
            break;
        if (t.kind != TOK_COMMA || m->is_variadic)
            return bad_params(
                p, &t, m->is_variadic ? "'...' must be the last parameter" : "expected ',' or ')'");
        if (!lex_next_in_line(l, &t))
            return bad_params(p, &t, "the line ends before ')'");
        if (t.kind == TOK_RPAREN)
            return bad_params(p, &t, "a parameter's name is expected here");
    }
    return true;
}

static uint32_t param_index(const macro *m, const char *name)
{
    for (uint32_t i = 0; i < m->param_count; i++)
        if (m->params[i] == name)
            return i + 1;
    return 0;
}

static bool check_macro(pp *p, const macro *m)
{
    for (uint32_t i = 0; i < m->body_len; i++) {
        const token *t = &m->body[i];
        if (t->kind == TOK_HASHHASH && (i == 0 || i + 1 == m->body_len)) {
            diag *d = diag_raise(p->f->diags, K0038, t->at,
                                 "'##' joins two tokens, but stands at the %s of the macro",
                                 i ? "end" : "start");
            diag_label(d, t->at, i ? "nothing follows" : "nothing stands before it");
            return false;
        }
        if (t->kind == TOK_HASH && m->is_function &&
            (i + 1 == m->body_len || !m->body[i + 1].match)) {
            diag *d = diag_raise(p->f->diags, K0037, t->at,
                                 "'#' makes a string of a parameter, but no parameter follows");
            diag_label(d, i + 1 < m->body_len ? m->body[i + 1].at : t->at,
                       "not a parameter of '%s'", m->name);
            return false;
        }
        uint8_t word = t->kind == TOK_IDENT ? pp_ident(p, t->name)->word : WORD_NONE;
        if (!m->is_variadic && (word == WORD_VA_ARGS || word == WORD_VA_OPT)) {
            diag *d = diag_raise(p->f->diags, K0045, t->at,
                                 "%s has a meaning only in a macro with '...'", t->name);
            diag_label(d, t->at, "'%s' takes a fixed number of arguments", m->name);
            diag_label(d, m->at, "add '...' to its parameters");
            return false;
        }
    }
    return true;
}

// Everything after the name. NULL: a diagnostic was given.
static macro *read_macro(pp *p, lexer *l, const char *name, span at)
{
    front *f = p->f;
    macro *m = arena_new_of(f->in, macro);
    m->name = name;
    m->at = at;
    if (*l->at == '(') {
        token open;
        lex_next_in_line(l, &open);
        m->is_function = true;
        if (!read_params(p, l, m))
            return NULL;
    }
    token t;
    p->line.len = 0;
    while (lex_next_in_line(l, &t)) {
        t.match = m->is_function && t.kind == TOK_IDENT ? param_index(m, t.name) : 0;
        vec_push(f->in, &p->line, t);
    }
    m->body = arena_copy(f->in, p->line.at, p->line.len * sizeof(token));
    m->body_len = p->line.len;
    if (at.lo && m->body_len) {
        m->source = arena_new_of(f->in, source_macro);
        *m->source = (source_macro){
            .name = name, .at = at, .body = span_join(m->body[0].at, m->body[m->body_len - 1].at)};
    }
    return check_macro(p, m) && pp_opt_check(p, m) ? m : NULL;
}

macro *pp_define_text(pp *p, const char *name, const char *body)
{
    lexer l = lex_open_text(p->f, body, strlen(body));
    l.at_line_start = false;
    macro *m = read_macro(p, &l, name, (span){0, 0});
    if (!m) {
        m = arena_new_of(p->f->in, macro);
        m->name = name;
    }
    m->is_predefined = true;
    return m;
}

// A file's own macro replaces one of Kiln's headers silently, as it replaces one of kernel.h:
// kernels from elsewhere bring their own __ldg or warpSize. One of C's headers replaces a file's.
static bool may_replace(const pp *p, const macro *old)
{
    const source_file *from = source_file_at(p->f->sources, old->at.lo);
    const source_file *by = p->file->file;
    str path = str_of(by->path);
    bool is_of_c = by->is_builtin && str_starts(path, "<") && !str_starts(path, "<kiln/");
    return old->is_predefined || (from && from->is_builtin ? !by->is_builtin : is_of_c);
}

void pp_define(pp *p, lexer *l, span directive)
{
    token name;
    if (!lex_next_in_line(l, &name) || name.kind != TOK_IDENT) {
        diag *d = diag_raise(p->f->diags, K0032, name.kind == TOK_EOF ? directive : name.at,
                             "#define needs the name of a macro");
        diag_label(d, name.kind == TOK_EOF ? directive : name.at, "a name is expected here");
        return;
    }
    ident *id = pp_ident(p, name.name);
    if (id->word == WORD_DEFINED || id->word == WORD_VA_ARGS || id->word == WORD_VA_OPT ||
        id->word == WORD_HAS_INCLUDE || (id->macro && id->macro->magic)) {
        diag *d =
            diag_raise(p->f->diags, K0046, name.at, "'%s' belongs to the preprocessor", name.name);
        diag_label(d, name.at, "cannot be defined");
        return;
    }
    macro *m = read_macro(p, l, name.name, name.at), *old = id->macro;
    if (!m)
        return;
    if (old && !may_replace(p, old) && !same_body(old, m)) {
        bool is_lax = p->is_lax && !p->file->file->is_builtin;
        diag *d = diag_raise(p->f->diags, is_lax ? K0051 : K0034, m->at,
                             "'%s' is defined again, differently", m->name);
        diag_label(d, m->at, "this %s the first definition", is_lax ? "replaces" : "would replace");
        diag_label(d, old->at, "first defined here");
        diag_note(d, "write #undef %s before it when that is what you want", m->name);
    }
    m->is_users = !p->file->file->is_builtin;
    id->predef = NULL;
    id->macro = m;
}

// --- arguments

typedef struct argument {
    const token *raw;
    uint32_t raw_len;
    token_list expanded;
    bool is_expanded; // else `raw` is all there is to it
} argument;

typedef struct call {
    macro *m;
    token name;
    span at;
    token_list tokens; // of all arguments
    argument *args;
    uint32_t arg_count;
    bool has_variadic; // something stands for '...'
    bool is_unclosed;
} call;

// Goes on as if the name and the parenthesis were not there.
static bool unclosed_call(pp *p, call *c, token_list list)
{
    diag *d = diag_raise(p->f->diags, K0036, c->name.at,
                         "the arguments of macro '%s' are never closed", c->m->name);
    diag_label(d, c->name.at, "no ')' belongs to the '(' after this");
    diag_label(d, c->m->at, "defined here");
    pp_push_owned(p, NULL, list);
    c->is_unclosed = true;
    return false;
}

static bool wrong_count(pp *p, const call *c, uint32_t given)
{
    uint32_t want = c->m->param_count - c->m->is_variadic;
    diag *d = diag_raise(p->f->diags, K0035, c->at, "macro '%s' takes %s%u argument%s, not %u",
                         c->m->name, c->m->is_variadic ? "at least " : "", want,
                         want == 1 ? "" : "s", given);
    diag_label(d, c->at, "%u given", given);
    diag_label(d, c->m->at, "defined here with %u", want);
    return false;
}

static bool is_over_budget(pp *p, uint32_t more, span at)
{
    p->expanded += more;
    if (p->expanded <= PP_EXPANDED)
        return false;
    if (!p->is_stopped) {
        diag *d =
            diag_raise(p->f->diags, K0040, at, "macros expand to more than %d tokens", PP_EXPANDED);
        diag_label(d, at, "the limit is reached in this use");
        diag_note(d, "a macro that names another one several times doubles at every step");
    }
    pp_stop(p);
    return true;
}

// After the opening parenthesis: splits up to the matching one.
static bool read_arguments(pp *p, call *c)
{
    front *f = p->f;
    token_list list = pp_list_get(p, 8);
    vec(uint32_t) ends = {0};
    uint32_t depth = 0;
    token t;
    for (;;) {
        pp_read(p, &t);
        if (t.kind == TOK_EOF && !p->is_stopped)
            return unclosed_call(p, c, list);
        if (t.kind == TOK_EOF)
            return false;
        if (t.kind == TOK_RPAREN && !depth)
            break;
        bool takes_rest = c->m->is_variadic && ends.len + 1 >= c->m->param_count;
        if (t.kind == TOK_COMMA && !depth && !takes_rest)
            vec_push(f->in, &ends, list.len); // the comma stays in the list, between the arguments
        depth += t.kind == TOK_LPAREN;
        depth -= t.kind == TOK_RPAREN;
        if (t.flags & TF_LINE_START)
            t.flags = (uint8_t)((t.flags & ~TF_LINE_START) | TF_SPACE);
        if (t.kind == TOK_IDENT && !(t.flags & TF_NO_EXPAND)) {
            ident *id = pp_ident(p, t.name);
            if (id->macro && id->macro->is_expanding)
                t.flags |= TF_NO_EXPAND;
        }
        vec_push(f->in, &list, t);
        c->tokens = list;
        if (is_over_budget(p, 1, c->at))
            return false;
    }
    c->tokens = list;
    vec_push(f->in, &ends, list.len);
    c->at = span_join(c->at, t.at);
    uint32_t given = ends.len, want = c->m->param_count;
    if (given == 1 && !list.len && (!want || (want == 1 && c->m->is_variadic)))
        given = 0;
    if (given > want || given + c->m->is_variadic < want)
        return wrong_count(p, c, given);
    c->has_variadic = c->m->is_variadic && given == want;
    c->arg_count = want;
    c->args = arena_array(f->in, argument, want + 1);
    for (uint32_t i = 0; i < given; i++) {
        uint32_t from = i ? ends.at[i - 1] + 1 : 0;
        c->args[i].raw = list.at + from;
        c->args[i].raw_len = ends.at[i] - from;
    }
    return true;
}

static bool has_macro(pp *p, const token *tokens, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        if (tokens[i].kind == TOK_IDENT && !(tokens[i].flags & TF_NO_EXPAND)) {
            ident *id = pp_ident(p, tokens[i].name);
            if (id->macro || (p->in_if && id->word))
                return true;
        }
    return false;
}

static void expand_argument(pp *p, const call *c, argument *arg)
{
    if (arg->is_expanded)
        return;
    if (!has_macro(p, arg->raw, arg->raw_len))
        return;
    if (p->argument_depth >= PP_ARGUMENTS) {
        diag *d = diag_raise(p->f->diags, K0041, c->at, "macro calls are nested more than %d deep",
                             PP_ARGUMENTS);
        diag_label(d, c->at, "in the arguments of this one");
        pp_stop(p);
        return;
    }
    p->argument_depth++;
    arg->expanded = pp_expand_list(p, arg->raw, arg->raw_len);
    arg->is_expanded = true;
    p->argument_depth--;
}

// --- substitution

typedef struct substitution {
    pp *p;
    call *c;
    uint32_t base; // position of the body's first byte in this expansion; 0: all stands at the use
    const token *body; // the macro's, or what is left of it without its __VA_OPT__
    uint32_t body_len;
    token_list out;
} substitution;

// A part of the macro's body, in this expansion.
static span place_in(const substitution *s, span body)
{
    uint32_t start = s->c->m->body[0].at.lo;
    if (!s->base)
        return s->c->at;
    return (span){body.lo - start + s->base, body.hi - start + s->base};
}

static token placed(const substitution *s, const token *body)
{
    token t = *body;
    t.match = 0;
    t.at = place_in(s, body->at);
    t.flags = (uint8_t)((t.flags & ~TF_LINE_START) | TF_FROM_MACRO);
    return t;
}

static token stringify(substitution *s, const argument *arg, const token *hash)
{
    text out = {.in = s->p->f->in};
    text_putc(&out, '"');
    for (uint32_t i = 0; i < arg->raw_len; i++) {
        const token *t = &arg->raw[i];
        if (i && t->flags & TF_SPACE)
            text_putc(&out, ' ');
        str spelling = lex_spelling(t);
        bool is_quoted = t->kind == TOK_STRING || t->kind == TOK_CHAR;
        for (size_t j = 0; j < spelling.len; j++) {
            if (is_quoted && (spelling.at[j] == '"' || spelling.at[j] == '\\'))
                text_putc(&out, '\\');
            text_putc(&out, spelling.at[j]);
        }
    }
    text_putc(&out, '"');
    is_over_budget(s->p, (uint32_t)(out.len / 4), s->c->at);
    token t = placed(s, hash);
    t.at = place_in(s, span_join(hash->at, hash[1].at));
    t.kind = TOK_STRING;
    t.bytes = (str){out.at, out.len};
    return t;
}

// Joins `right` to the last token of the result.
static void paste(substitution *s, const token *right, const token *op)
{
    token *left = &vec_last(&s->out);
    if (right->kind == TOK_PLACEMARKER)
        return;
    if (left->kind == TOK_PLACEMARKER) {
        uint8_t space = left->flags & TF_SPACE;
        *left = *right;
        left->flags = (uint8_t)((left->flags & ~TF_SPACE) | space);
        return;
    }
    front *f = s->p->f;
    str a = lex_spelling(left), b = lex_spelling(right);
    text both = {.in = f->in};
    text_add(&both, a.at, a.len);
    text_add(&both, b.at, b.len);
    lexer l = lex_open_text(f, both.at, both.len);
    l.is_quiet = true;
    l.at_line_start = false;
    token made;
    lex_next(&l, &made);
    if (is_over_budget(s->p, 1 + (uint32_t)(both.len / 16), s->c->at))
        return;
    if (l.at != l.end || made.kind == TOK_EOF || made.kind == TOK_OTHER) {
        diag *d =
            diag_raise(f->diags, K0039, s->c->at, "'##' cannot make one token of '%.*s' and '%.*s'",
                       a.len < 40 ? (int)a.len : 40, a.at, b.len < 40 ? (int)b.len : 40, b.at);
        diag_label(d, s->c->at, "in this use of '%s'", s->c->m->name);
        diag_label(d, op->at, "joined here");
        token second = *right;
        vec_push(f->in, &s->out, second);
        return;
    }
    token whole = placed(s, op);
    whole.kind = made.kind;
    whole.flags = (uint8_t)((whole.flags & ~TF_SPACE) | (left->flags & TF_SPACE));
    whole.bytes = made.bytes; // covers the name as well
    whole.at = place_in(s, span_join(op[-1].at, op[1].at));
    *left = whole;
}

// How many tokens from the first one follow each other in one text, so that one shift moves all.
static uint32_t run_length(const token *tokens, uint32_t len)
{
    uint32_t n = 1;
    while (n < len && tokens[n].at.lo >= tokens[n - 1].at.hi &&
           tokens[n].at.lo - tokens[n - 1].at.hi < PP_RUN_GAP)
        n++;
    return n;
}

// Tokens of an argument, in the place of the body's token `param`.
static void push_tokens(substitution *s, const token *tokens, uint32_t len, uint8_t space,
                        const token *param)
{
    if (len > PP_EXPANDED || is_over_budget(s->p, len, s->c->at))
        return;
    span use = place_in(s, param->at);
    uint32_t run_end = 0, base = 0, from = 0;
    for (uint32_t i = 0; i < len; i++) {
        token t = tokens[i];
        if (i == run_end && s->base && t.at.lo) {
            run_end = i + run_length(tokens + i, len - i);
            from = t.at.lo;
            base = source_pass(s->p->f->sources, (span){from, tokens[run_end - 1].at.hi}, use, !i,
                               run_end == len);
        }
        if (i < run_end && base)
            t.at = (span){t.at.lo - from + base, t.at.hi - from + base};
        if (!i)
            t.flags = (uint8_t)((t.flags & ~(TF_SPACE | TF_LINE_START)) | space);
        vec_push(s->p->f->in, &s->out, t);
    }
}

static void push_expanded(substitution *s, argument *arg, const token *param)
{
    uint8_t space = param->flags & TF_SPACE;
    expand_argument(s->p, s->c, arg);
    if (arg->is_expanded)
        push_tokens(s, arg->expanded.at, arg->expanded.len, space, param);
    else
        push_tokens(s, arg->raw, arg->raw_len, space, param);
}

static void push_raw(substitution *s, uint32_t param, const token *body)
{
    const argument *arg = &s->c->args[param - 1];
    if (arg->raw_len) {
        push_tokens(s, arg->raw, arg->raw_len, body->flags & TF_SPACE, body);
        return;
    }
    token marker = placed(s, body);
    marker.kind = TOK_PLACEMARKER;
    vec_push(s->p->f->in, &s->out, marker);
}

// The operand after ##: pastes its first token, appends the rest. Gives the body tokens used.
static uint32_t paste_operand(substitution *s, const token *body, const token *op)
{
    if (body->kind == TOK_HASH && s->c->m->is_function) {
        token string = stringify(s, &s->c->args[body[1].match - 1], body);
        paste(s, &string, op);
        return 2;
    }
    if (!body->match) {
        token t = placed(s, body);
        paste(s, &t, op);
        return 1;
    }
    const argument *arg = &s->c->args[body->match - 1];
    if (arg->raw_len) {
        paste(s, &arg->raw[0], op);
        if (arg->raw_len > 1)
            push_tokens(s, arg->raw + 1, arg->raw_len - 1, arg->raw[1].flags & TF_SPACE, body);
    }
    return 1;
}

static void substitute_body(substitution *s)
{
    macro *m = s->c->m;
    front *f = s->p->f;
    token_list chosen = {0};
    s->body = m->body;
    s->body_len = m->body_len;
    if (m->has_opt) {
        argument *rest = &s->c->args[m->param_count - 1];
        expand_argument(s->p, s->c, rest);
        chosen = pp_list_get(s->p, m->body_len);
        pp_opt_choose(s->p, m, rest->is_expanded ? rest->expanded.len : rest->raw_len, &chosen);
        s->body = chosen.at;
        s->body_len = chosen.len;
    }
    for (uint32_t i = 0; i < s->body_len && !s->p->is_stopped;) {
        const token *t = &s->body[i];
        bool is_pasted = i + 1 < s->body_len && t[1].kind == TOK_HASHHASH;
        if (t->kind == TOK_HASHHASH && s->out.len) {
            i += 1 + paste_operand(s, t + 1, t);
        } else if (t->kind == TOK_HASH && m->is_function) {
            token string = stringify(s, &s->c->args[t[1].match - 1], t);
            vec_push(f->in, &s->out, string);
            i += 2;
        } else if (t->kind == TOK_COMMA && is_pasted && m->is_variadic && i + 2 < s->body_len &&
                   t[2].match == m->param_count) {
            // GNU: the comma before ## __VA_ARGS__ goes when nothing stands for the dots.
            argument *rest = &s->c->args[m->param_count - 1];
            if (rest->raw_len || (s->c->has_variadic && m->param_count > 1)) {
                token comma = placed(s, t);
                vec_push(f->in, &s->out, comma);
                push_expanded(s, rest, &t[2]);
            }
            i += 3;
        } else if (t->match && is_pasted) {
            push_raw(s, t->match, t);
            i++;
        } else if (t->match) {
            argument *arg = &s->c->args[t->match - 1];
            push_expanded(s, arg, t);
            i++;
        } else {
            token plain = placed(s, t);
            vec_push(f->in, &s->out, plain);
            i++;
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->out.len; i++)
        if (s->out.at[i].kind != TOK_PLACEMARKER)
            s->out.at[kept++] = s->out.at[i];
    s->out.len = kept;
    if (m->has_opt)
        pp_list_give(s->p, chosen);
}

static void give_back(pp *p, call *c)
{
    for (uint32_t i = 0; i < c->arg_count; i++)
        pp_list_give(p, c->args[i].expanded);
    pp_list_give(p, c->tokens);
}

static void push_result(pp *p, call *c)
{
    substitution s = {.p = p, .c = c};
    s.out = pp_list_get(p, c->m->body_len);
    if (c->m->source)
        s.base = source_expand(p->f->sources, c->m->source, c->at);
    substitute_body(&s);
    give_back(p, c);
    if (is_over_budget(p, c->m->body_len + 1, c->at))
        return;
    if (s.out.len)
        s.out.at[0].flags = (uint8_t)((s.out.at[0].flags & ~(TF_SPACE | TF_LINE_START)) |
                                      (c->name.flags & (TF_SPACE | TF_LINE_START)));
    pp_push_owned(p, c->m, s.out);
}

static const char *quoted_path(arena *a, const char *path)
{
    text out = {.in = a};
    text_putc(&out, '"');
    for (; *path; path++) {
        if (*path == '"' || *path == '\\')
            text_putc(&out, '\\');
        text_putc(&out, *path);
    }
    text_putc(&out, '"');
    return out.at;
}

// __FILE__, __LINE__ …
static void push_magic(pp *p, const macro *m, const token *name)
{
    token t = *name;
    source_place place = source_find(p->f->sources, name->at.lo);
    t.flags |= TF_FROM_MACRO;
    t.kind = TOK_INT;
    const char *spelling = "0";
    switch ((magic)m->magic) {
    case MAGIC_NONE: break;
    case MAGIC_LINE:
        spelling =
            str_format(p->f->in, "%u", place.file ? source_shown_line(place.file, place.line) : 0);
        break;
    case MAGIC_COUNTER: spelling = str_format(p->f->in, "%u", p->counter++); break;
    case MAGIC_INCLUDE_LEVEL: spelling = str_format(p->f->in, "%u", p->file_depth - 1); break;
    case MAGIC_FILE:
        t.kind = TOK_STRING;
        spelling = quoted_path(p->f->in, place.file ? source_shown_path(place.file, place.line)
                                                    : p->file->file->path);
        break;
    }
    t.bytes = str_of(spelling);
    pp_unread(p, &t);
}

// The text of C's headers means the same whatever the user has defined before; its #if may ask.
static bool is_foreign(const pp *p, const macro *m)
{
    return m->is_users && !p->in_if && p->file && p->file->file->is_closed;
}

bool pp_expand(pp *p, token *name)
{
    macro *m = pp_ident(p, name->name)->macro;
    if (!m || name->flags & TF_NO_EXPAND || is_foreign(p, m))
        return false;
    if (m->is_expanding) {
        name->flags |= TF_NO_EXPAND;
        return false;
    }
    if (m->magic) {
        push_magic(p, m, name);
        return true;
    }
    call c = {.m = m, .name = *name, .at = name->at};
    if (m->is_function) {
        token open;
        pp_read(p, &open);
        if (open.kind != TOK_LPAREN) {
            pp_unread(p, &open);
            return false;
        }
        if (!read_arguments(p, &c)) {
            if (c.is_unclosed)
                return true;
            // Stands for 0, so that the place still holds an expression.
            token zero = *name;
            zero.kind = TOK_INT;
            zero.flags |= TF_FROM_MACRO;
            zero.bytes = STR("0");
            pp_unread(p, &zero);
            return true;
        }
    }
    push_result(p, &c);
    return true;
}

// --- `defined X` and `__has_include(…)` in #if

static void push_answer(pp *p, const token *use, bool answer)
{
    token t = *use;
    t.kind = TOK_INT;
    t.bytes = answer ? STR("1") : STR("0");
    pp_unread(p, &t);
}

static void answer_defined(pp *p, const token *use)
{
    token t, close;
    pp_read(p, &t);
    bool has_paren = t.kind == TOK_LPAREN;
    if (has_paren)
        pp_read(p, &t);
    bool is_good = t.kind == TOK_IDENT;
    if (is_good && has_paren) {
        pp_read(p, &close);
        is_good = close.kind == TOK_RPAREN;
    }
    if (!is_good) {
        diag *d = diag_raise(p->f->diags, K0042, use->at, "'defined' needs the name of a macro");
        diag_label(d, use->at, "write defined(NAME)");
        push_answer(p, use, false);
        return;
    }
    ident *id = pp_ident(p, t.name);
    push_answer(p, use, id->macro || id->word == WORD_HAS_INCLUDE);
}

static void answer_has_include(pp *p, const token *use)
{
    token t;
    text name = {.in = p->f->in};
    pp_read(p, &t);
    bool is_good = t.kind == TOK_LPAREN, is_quoted = false;
    if (is_good) {
        pp_read(p, &t);
        while (t.kind == TOK_IDENT && pp_expand(p, &t))
            pp_read(p, &t);
        if (t.kind == TOK_STRING && t.bytes.len >= 2) {
            is_quoted = true;
            text_add(&name, t.bytes.at + 1, t.bytes.len - 2);
            pp_read(p, &t);
        } else if (t.kind == TOK_LT) {
            for (pp_read(p, &t); t.kind != TOK_GT && t.kind != TOK_EOF; pp_read(p, &t)) {
                str spelling = lex_spelling(&t);
                text_add(&name, spelling.at, spelling.len);
            }
            pp_read(p, &t);
        }
        is_good = t.kind == TOK_RPAREN && name.len;
    }
    if (!is_good) {
        diag *d =
            diag_raise(p->f->diags, K0042, use->at, "__has_include needs the name of a header");
        diag_label(d, use->at, "write __has_include(<name>) or __has_include(\"name\")");
    }
    push_answer(p, use, is_good && pp_has_include(p, (str){name.at, name.len}, is_quoted));
}

token_list pp_expand_list(pp *p, const token *tokens, uint32_t len)
{
    token_list list = pp_list_get(p, len);
    token t;
    pp_push(p, NULL, tokens, len, true);
    expansion *fence = p->expansion;
    for (;;) {
        pp_read(p, &t);
        if (t.kind == TOK_EOF)
            break;
        if (t.kind == TOK_IDENT) {
            uint8_t word = p->in_if ? pp_ident(p, t.name)->word : WORD_NONE;
            if (word == WORD_DEFINED) {
                answer_defined(p, &t);
                continue;
            }
            if (word == WORD_HAS_INCLUDE) {
                answer_has_include(p, &t);
                continue;
            }
            if (pp_expand(p, &t))
                continue;
        }
        vec_push(p->f->in, &list, t);
    }
    while (p->expansion && p->expansion != fence)
        pp_pop(p);
    if (p->expansion)
        pp_pop(p);
    return list;
}
