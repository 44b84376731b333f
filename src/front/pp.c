// The preprocessor's loop: files and expansions in, the parser's tokens out. pp_read is the one
// place tokens come from, emit the one place they go to: there numbers and strings get their
// meaning, names become keywords, neighbouring strings are joined and brackets are paired.
// Invariant: every bracket in the result either has its partner's index in `match` or was reported.
#include "front/pp.h"

#include "base/embed.h"

// --- names

static ident *find_ident(pp *p, const char *name)
{
    if (name == p->last_name)
        return p->last_ident;
    uint64_t *slot = map_at(&p->idents, map_key(name));
    ident *id = (ident *)(uintptr_t)*slot;
    if (!id) {
        size_t len = name_len(name);
        id = arena_new_of(p->f->in, ident);
        *slot = map_key(id);
        id->predef = pp_predef_find(name, len);
        id->keyword = (uint8_t)pp_keyword(name, len);
        id->word = (uint8_t)pp_word(name, len);
    }
    p->last_name = name;
    p->last_ident = id;
    return id;
}

ident *pp_ident(pp *p, const char *name)
{
    ident *id = find_ident(p, name);
    if (id->predef && id->predef->headers & p->headers) {
        const predef *row = id->predef;
        id->predef = NULL;
        const char *body = pp_predef_text(row, p->f->options, p->f->in);
        if (body) {
            id->macro = pp_define_text(p, name, body);
            id->macro->magic = row->magic;
        }
    }
    return id;
}

// --- input

void pp_stop(pp *p)
{
    p->is_stopped = true;
}

static unsigned pool_class(uint32_t cap)
{
    unsigned class = 3;
    while (((uint32_t)1 << class) < cap)
        class ++;
    return class;
}

token_list pp_list_get(pp *p, uint32_t want)
{
    unsigned class = pool_class(want);
    token_list list = {.cap = (uint32_t)1 << class};
    list.at = p->pool[class];
    if (list.at)
        p->pool[class] = (token *)(uintptr_t)list.at->name;
    else
        list.at = arena_array(p->f->in, token, list.cap);
    return list;
}

void pp_list_give(pp *p, token_list list)
{
    if (!list.at)
        return;
    unsigned class = pool_class(list.cap);
    if ((uint32_t)1 << class != list.cap)
        return;
    list.at->name = (const char *)p->pool[class];
    p->pool[class] = list.at;
}

static expansion *push(pp *p, macro *m)
{
    expansion *e = p->spare;
    if (e)
        p->spare = e->outer;
    else
        e = arena_new_of(p->f->in, expansion);
    *e = (expansion){.outer = p->expansion, .macro = m};
    if (m)
        m->is_expanding = true;
    p->expansion = e;
    return e;
}

void pp_push(pp *p, macro *m, const token *tokens, uint32_t len, bool is_fenced)
{
    expansion *e = push(p, m);
    e->at = tokens;
    e->end = tokens + len;
    e->is_fenced = is_fenced;
}

void pp_push_owned(pp *p, macro *m, token_list list)
{
    expansion *e = push(p, m);
    e->owned = list;
    e->at = list.at;
    e->end = list.at + list.len;
}

void pp_pop(pp *p)
{
    expansion *e = p->expansion;
    if (e->macro)
        e->macro->is_expanding = false;
    p->expansion = e->outer;
    pp_list_give(p, e->owned);
    e->outer = p->spare;
    p->spare = e;
}

void pp_unread(pp *p, const token *t)
{
    if (t->kind == TOK_EOF)
        return;
    token_list list = pp_list_get(p, 1);
    list.at[list.len++] = *t;
    pp_push_owned(p, NULL, list);
}

void pp_read(pp *p, token *out)
{
    for (;;) {
        expansion *e = p->expansion;
        if (p->is_stopped || (e && e->at == e->end && e->is_fenced)) {
            *out = (token){.kind = TOK_EOF};
            return;
        }
        if (e && e->at < e->end) {
            *out = *e->at++;
            return;
        }
        if (e) {
            pp_pop(p);
            continue;
        }
        lex_next(&p->file->lex, out);
        if (out->kind != TOK_HASH || !(out->flags & TF_LINE_START))
            return;
        pp_directive(p, out);
    }
}

void pp_enter_file(pp *p, const source_file *file, const char *key, span include_at)
{
    open_file *o = arena_new_of(p->f->in, open_file);
    *o = (open_file){.outer = p->file,
                     .file = file,
                     .key = key,
                     .lex = lex_open(p->f, file),
                     .include_at = include_at,
                     .first_condition = p->conditions.len};
    p->file = o;
    p->file_depth++;
}

// --- output

static bool has_room(pp *p, span at)
{
    if (p->out.len < PP_TOKENS)
        return true;
    diag *d =
        diag_raise(p->f->diags, K0019, at, "this file is too long: more than %d tokens", PP_TOKENS);
    diag_label(d, at, "the limit is reached here");
    diag_note(d, "tables of this size belong into a buffer that the kernel gets as an argument");
    pp_stop(p);
    return false;
}

static token_kind closer_of(unsigned kind)
{
    return kind == TOK_LPAREN ? TOK_RPAREN : kind == TOK_LBRACKET ? TOK_RBRACKET : TOK_RBRACE;
}

static void complain_unclosed(pp *p, const token *open, const token *end)
{
    const char *what = token_kind_spelling(open->kind);
    diag *d = diag_raise(p->f->diags, K0015, open->at, "this %s is never closed", what);
    diag_label(d, open->at, "opened here");
    if (end->kind == TOK_EOF)
        diag_label(d, end->at, "the file ends without its %s",
                   token_kind_spelling(closer_of(open->kind)));
    else
        diag_label(d, end->at, "this %s comes before its %s", token_kind_spelling(end->kind),
                   token_kind_spelling(closer_of(open->kind)));
}

// Pairs a closing bracket. False: it closes nothing (reported), and is left out.
static bool close_bracket(pp *p, const token *t)
{
    uint32_t depth = p->brackets.len;
    while (depth && closer_of(p->out.at[p->brackets.at[depth - 1]].kind) != t->kind)
        depth--;
    if (!depth || (t->kind != TOK_RBRACE && depth < p->brackets.len &&
                   p->out.at[p->brackets.at[p->brackets.len - 1]].kind == TOK_LBRACE)) {
        diag *d = diag_raise(p->f->diags, K0016, t->at, "this %s closes nothing",
                             token_kind_spelling(t->kind));
        diag_label(d, t->at, "no open bracket of its kind");
        if (p->brackets.len) {
            const token *open = &p->out.at[vec_last(&p->brackets)];
            diag_label(d, open->at, "the innermost open one is this %s",
                       token_kind_spelling(open->kind));
        }
        return false;
    }
    while (p->brackets.len > depth)
        complain_unclosed(p, &p->out.at[vec_pop(&p->brackets)], t);
    p->out.at[vec_pop(&p->brackets)].match = p->out.len;
    return true;
}

static bool open_bracket(pp *p, const token *t)
{
    if (p->brackets.len >= PP_BRACKETS) {
        diag *d = diag_raise(p->f->diags, K0017, t->at, "brackets are nested more than %d deep",
                             PP_BRACKETS);
        diag_label(d, t->at, "one too many");
        diag_label(d, p->out.at[p->brackets.at[0]].at, "the outermost is here");
        pp_stop(p);
        return false;
    }
    vec_push(p->f->in, &p->brackets, p->out.len);
    return true;
}

// Appends a string to the one before it.
static bool join_string(pp *p, const token *t)
{
    token *before = p->out.len ? &vec_last(&p->out) : NULL;
    if (!before || before->kind != TOK_STRING)
        return false;
    if (p->joined_index != p->out.len) { // the buffer belongs to another string
        p->joined = (text){.in = p->f->in};
        text_add(&p->joined, before->bytes.at, before->bytes.len);
        p->joined_index = p->out.len;
    }
    text_add(&p->joined, t->bytes.at, t->bytes.len);
    before->bytes = (str){p->joined.at, p->joined.len};
    before->at = span_join(before->at, t->at);
    return true;
}

static void complain_stray(pp *p, const token *t)
{
    unsigned char c = (unsigned char)t->bytes.at[0];
    diag *d = c > ' ' && c < 127
                  ? diag_raise(p->f->diags, K0004, t->at, "'%c' has no meaning in C", c)
                  : diag_raise(p->f->diags, K0004, t->at,
                               "a byte that is not part of C stands here (0x%02X)", c);
    if (c == '\\')
        diag_label(d, t->at, "a backslash joins lines only when the line ends right after it");
    else if (c < 128)
        diag_label(d, t->at, "remove it");
    else
        diag_label(d, t->at, "outside strings and comments a kernel file is plain ASCII");
    if (!(t->flags & TF_FROM_MACRO))
        diag_fix(d, t->at, "remove it", "%s", "");
}

static void emit(pp *p, token *t)
{
    if (!has_room(p, t->at))
        return;
    t->match = 0;
    switch (t->kind) {
    case TOK_IDENT: {
        uint8_t keyword = pp_ident(p, t->name)->keyword;
        bool is_name = p->has_plain_words && !p->has_kernel && t->name[0] != '_' &&
                       (keyword == TOK_KERNEL || keyword == TOK_SHARED);
        if (keyword && !is_name)
            t->kind = keyword;
        break;
    }
    case TOK_INT: lex_settle_number(p->f, t); break;
    case TOK_CHAR: lex_settle_char(p->f, t); break;
    case TOK_STRING:
        lex_settle_string(p->f, t);
        if (join_string(p, t))
            return;
        break;
    case TOK_OTHER: complain_stray(p, t); return;
    case TOK_LPAREN:
    case TOK_LBRACKET:
    case TOK_LBRACE:
        if (!open_bracket(p, t))
            return;
        break;
    case TOK_RPAREN:
    case TOK_RBRACKET:
    case TOK_RBRACE:
        if (!close_bracket(p, t))
            return;
        break;
    default: break;
    }
    t->flags &= (uint8_t)~TF_NO_EXPAND;
    vec_push(p->f->in, &p->out, *t);
}

void pp_emit_pragma(pp *p, span at, const char *name, int32_t number)
{
    token t = {.kind = TOK_PRAGMA, .flags = TF_LINE_START, .at = at, .number = number};
    t.name = name_cstr(p->f->names, name);
    if (has_room(p, at))
        vec_push(p->f->in, &p->out, t);
}

// The tokens of a pragma that the parser evaluates, as ( … ) behind it.
void pp_emit_in_parens(pp *p, const token *list, uint32_t len, span at)
{
    token open = {.kind = TOK_LPAREN, .at = at}, close = {.kind = TOK_RPAREN, .at = at};
    emit(p, &open);
    for (uint32_t i = 0; i < len; i++) {
        token t = list[i];
        emit(p, &t);
    }
    emit(p, &close);
}

// _Pragma("text"): the text is lexed as a #pragma line.
static void pragma_operator(pp *p, const token *use)
{
    static const token_kind form[] = {TOK_LPAREN, TOK_STRING, TOK_RPAREN};
    token_list read = pp_list_get(p, COUNT(form));
    bool is_good = true;
    for (size_t i = 0; i < COUNT(form) && is_good; i++) {
        token t;
        pp_read(p, &t);
        is_good = t.kind == form[i];
        if (t.kind != TOK_EOF)
            read.at[read.len++] = t;
    }
    if (is_good) {
        token string = read.at[1];
        lex_settle_string(p->f, &string);
        lexer l = lex_open_text(p->f, str_dup(p->f->in, string.bytes), string.bytes.len);
        pp_pragma(p, &l, use->flags & TF_FROM_MACRO ? use->at : span_join(use->at, read.at[2].at));
        pp_list_give(p, read);
        return;
    }
    pp_push_owned(p, NULL, read);
    diag *d = diag_raise(p->f->diags, K0047, use->at, "_Pragma takes one string in parentheses");
    diag_label(d, use->at, "write _Pragma(\"unroll 4\")");
}

static void run_loop(pp *p)
{
    token t;
    for (;;) {
        pp_read(p, &t);
        if (t.kind == TOK_IDENT) {
            if (pp_expand(p, &t))
                continue;
            if (pp_ident(p, t.name)->word == WORD_PRAGMA) {
                pragma_operator(p, &t);
                continue;
            }
        }
        if (t.kind != TOK_EOF) {
            emit(p, &t);
            continue;
        }
        if (p->is_stopped)
            return;
        if (p->file->lex.is_in_comment) {
            pp_stop(p); // what is missing now is no news
            return;
        }
        pp_check_conditions(p);
        if (!p->file->outer)
            return;
        p->file = p->file->outer;
        p->file_depth--;
    }
}

static bool run(pp *p, const source_file *file)
{
    front *f = p->f;
    // A token takes about five bytes; what is far more is rarely code.
    uint32_t guess = (uint32_t)(file->text.len / 5) + 64;
    vec_reserve(f->in, &p->out, guess < 65536 ? guess : 65536);
    pp_enter_file(p, file, NULL, (span){0, 0});
    run_loop(p);
    uint32_t end = file->base + (uint32_t)file->text.len;
    token eof = {.kind = TOK_EOF, .flags = TF_LINE_START, .at = {end, end}};
    while (p->brackets.len && !p->is_stopped)
        complain_unclosed(p, &p->out.at[vec_pop(&p->brackets)], &eof);
    vec_push(f->in, &p->out, eof);
    return !p->is_stopped;
}

static pp *pp_in(front *f)
{
    pp *p = arena_new_of(f->in, pp);
    p->f = f;
    p->idents = map_make(f->in);
    p->once = map_make(f->in);
    p->texts = map_make(f->in);
    p->headers = HDR_ALWAYS;
    return p;
}

// "NAME" or "NAME=VALUE".
static void define_options(pp *p)
{
    const char *const *defines = p->f->options ? p->f->options->defines : NULL;
    for (; defines && *defines; defines++) {
        const char *equals = strchr(*defines, '=');
        size_t len = equals ? (size_t)(equals - *defines) : strlen(*defines);
        const char *open = memchr(*defines, '(', len);
        size_t name_bytes = open ? (size_t)(open - *defines) : len;
        const char *name = name_of(p->f->names, *defines, name_bytes);
        char *body = str_format(p->f->in, "%.*s %s", (int)(len - name_bytes), *defines + name_bytes,
                                equals ? equals + 1 : "1");
        ident *id = pp_ident(p, name);
        id->predef = NULL;
        id->macro = pp_define_text(p, name, body);
        id->macro->is_users = true;
    }
}

bool pp_run(front *f, source_file *file)
{
    if (file->text.len > PP_FILE_BYTES) {
        diag *d = diag_raise(f->diags, K0018, (span){0, 0}, "'%s' is too large: %zu bytes",
                             file->path, file->text.len);
        diag_note(d, "a kernel file may have %d MiB; tables of that size belong into a buffer",
                  PP_FILE_BYTES >> 20);
        token eof = {.kind = TOK_EOF, .at = {file->base, file->base}};
        vec_push(f->in, &f->tokens, eof);
        return false;
    }
    pp *p = pp_in(f);
    define_options(p);
    bool ok = run(p, file);
    f->tokens.at = p->out.at;
    f->tokens.len = p->out.len;
    f->tokens.cap = p->out.cap;
    return ok;
}

struct pp_library_text {
    struct pp_library_text *next;
    const char *name;
    token *tokens;
    uint32_t count;
};

bool pp_library(front *f, const char *name, token **tokens, uint32_t *count)
{
    for (struct pp_library_text *l = f->library_texts; l; l = l->next)
        if (!strcmp(l->name, name)) {
            *tokens = l->tokens;
            *count = l->count;
            return true;
        }
    size_t len;
    const char *contents = embed_find(str_format(f->in, "lib/%s", name), &len);
    if (!contents)
        return false;
    source_file *file =
        source_add(f->sources, str_format(f->in, "<kiln/lib/%s>", name), (str){contents, len});
    if (!file)
        return false;
    file->is_builtin = true;
    // Its own macros only: nothing a user defines may change what the library means.
    pp *p = pp_in(f);
    p->headers |= HDR_KERNEL;
    p->is_own = true;
    bool ok = run(p, file);
    struct pp_library_text *l = arena_new_of(f->in, struct pp_library_text);
    *l = (struct pp_library_text){f->library_texts, str_dup(f->in, str_of(name)), p->out.at,
                                  p->out.len};
    f->library_texts = l;
    *tokens = l->tokens;
    *count = l->count;
    return ok;
}
