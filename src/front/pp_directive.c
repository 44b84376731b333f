// Lines that start with '#'. One row per directive; conditional ones keep a stack, and the lines of
// a branch not taken are skipped here without being read as tokens. Start reading at pp_directive.
#include "front/pp.h"

// What stands left on a directive's line is reported once, then dropped.
static void end_line(pp *p, const char *directive)
{
    token t;
    span extra = {0, 0};
    while (lex_next_in_line(&p->file->lex, &t))
        extra = span_join(extra, t.at);
    if (!extra.lo || !directive)
        return;
    diag *d = diag_raise(p->f->diags, K0024, extra, "this has no meaning after #%s", directive);
    diag_label(d, extra, "ignored");
    if (!strcmp(directive, "else") || !strcmp(directive, "endif"))
        diag_fix(d, extra, "make it a comment", "// %.*s",
                 (int)source_text(p->f->sources, extra).len, source_text(p->f->sources, extra).at);
}

// --- conditions

static bool push_condition(pp *p, span at, bool is_taken)
{
    if (p->conditions.len >= PP_CONDITIONS) {
        diag *d =
            diag_raise(p->f->diags, K0050, at, "#if is nested more than %d deep", PP_CONDITIONS);
        diag_label(d, at, "one too many");
        diag_label(d, p->conditions.at[0].at, "the outermost is here");
        pp_stop(p);
        return false;
    }
    vec_push(p->f->in, &p->conditions, (pp_branch){.at = at, .is_taken = is_taken});
    return true;
}

static pp_branch *innermost(pp *p)
{
    return p->conditions.len > p->file->first_condition ? &vec_last(&p->conditions) : NULL;
}

static bool needs_if(pp *p, span at, const char *directive)
{
    if (innermost(p))
        return true;
    diag *d = diag_raise(p->f->diags, K0022, at, "#%s without an #if", directive);
    diag_label(d, at, "no #if is open here");
    return false;
}

// #else and #elif: false when one may not stand here.
static bool may_branch(pp *p, span at, const char *directive)
{
    if (!needs_if(p, at, directive))
        return false;
    pp_branch *c = innermost(p);
    if (c->else_at.lo) {
        diag *d = diag_raise(p->f->diags, K0023, at, "#%s after #else", directive);
        diag_label(d, at, "the #else before it already takes everything");
        diag_label(d, c->else_at, "the #else is here");
        diag_label(d, c->at, "both belong to this");
        return false;
    }
    return true;
}

static bool is_opening(const char *name)
{
    return !strcmp(name, "if") || !strcmp(name, "ifdef") || !strcmp(name, "ifndef");
}

// Skips lines until a branch of the innermost condition is taken, or it ends.
static void skip(pp *p)
{
    lexer *l = &p->file->lex;
    uint32_t depth = p->conditions.len;
    token hash, name;
    while (!p->is_stopped && lex_skip_to_hash(l, &hash)) {
        if (!lex_next_in_line(l, &name) || name.kind != TOK_IDENT)
            continue;
        span at = span_join(hash.at, name.at);
        if (is_opening(name.name)) {
            push_condition(p, at, true);
        } else if (!strcmp(name.name, "endif")) {
            (void)vec_pop(&p->conditions);
            end_line(p, "endif");
            if (p->conditions.len < depth)
                return;
        } else if (!strcmp(name.name, "else")) {
            pp_branch *c = innermost(p);
            bool may = may_branch(p, at, "else");
            c->else_at = c->else_at.lo ? c->else_at : at;
            end_line(p, "else");
            if (may && p->conditions.len == depth && !c->is_taken) {
                c->is_taken = true;
                return;
            }
        } else if (!strcmp(name.name, "elif") && may_branch(p, at, "elif") &&
                   p->conditions.len == depth && !innermost(p)->is_taken &&
                   pp_condition(p, l, at)) {
            innermost(p)->is_taken = true;
            return;
        }
    }
}

static void open_condition(pp *p, span at, bool is_true)
{
    if (push_condition(p, at, is_true) && !is_true)
        skip(p);
}

static void on_if(pp *p, span at)
{
    open_condition(p, at, pp_condition(p, &p->file->lex, at));
}

static bool read_macro_name(pp *p, span at, const char *directive, const char **name)
{
    token t;
    if (lex_next_in_line(&p->file->lex, &t) && t.kind == TOK_IDENT) {
        *name = t.name;
        return true;
    }
    span where = t.kind == TOK_EOF ? at : t.at;
    diag *d = diag_raise(p->f->diags, K0032, where, "#%s needs the name of a macro", directive);
    diag_label(d, where, "a name is expected here");
    end_line(p, NULL);
    return false;
}

static void on_ifdef_either(pp *p, span at, const char *directive, bool wants)
{
    const char *name = NULL;
    bool is_defined = false;
    if (read_macro_name(p, at, directive, &name)) {
        ident *id = pp_ident(p, name);
        is_defined = id->macro || id->word == WORD_HAS_INCLUDE;
        end_line(p, directive);
    }
    open_condition(p, at, is_defined == wants);
}

static void on_ifdef(pp *p, span at)
{
    on_ifdef_either(p, at, "ifdef", true);
}

static void on_ifndef(pp *p, span at)
{
    on_ifdef_either(p, at, "ifndef", false);
}

// A branch was taken before: everything up to #endif is skipped, a misplaced branch too.
static void on_elif(pp *p, span at)
{
    end_line(p, NULL);
    may_branch(p, at, "elif");
    if (innermost(p))
        skip(p);
}

static void on_else(pp *p, span at)
{
    bool may = may_branch(p, at, "else");
    end_line(p, "else");
    if (may)
        innermost(p)->else_at = at;
    if (innermost(p))
        skip(p);
}

static void on_endif(pp *p, span at)
{
    end_line(p, "endif");
    if (needs_if(p, at, "endif"))
        (void)vec_pop(&p->conditions);
}

void pp_check_conditions(pp *p)
{
    while (p->conditions.len > p->file->first_condition) {
        pp_branch c = vec_pop(&p->conditions);
        uint32_t end = p->file->file->base + (uint32_t)p->file->file->text.len;
        diag *d = diag_raise(p->f->diags, K0021, c.at, "this #if has no #endif");
        diag_label(d, c.at, "opened here");
        if (c.else_at.lo)
            diag_label(d, c.else_at, "its #else is here");
        diag_label(d, (span){end, end}, "the file ends without #endif");
    }
}

// --- the rest

static void on_define(pp *p, span at)
{
    pp_define(p, &p->file->lex, at);
    end_line(p, NULL);
}

static void on_undef(pp *p, span at)
{
    const char *name;
    if (!read_macro_name(p, at, "undef", &name))
        return;
    ident *id = pp_ident(p, name);
    id->macro = NULL;
    id->predef = NULL;
    end_line(p, "undef");
}

static void on_error(pp *p, span at)
{
    span where;
    str message = lex_rest_of_line(&p->file->lex, &where);
    diag *d = diag_raise(p->f->diags, K0025, at, "#error: %.*s", (int)message.len, message.at);
    diag_label(d, at, "the author of this file stops the compile here");
}

static void on_warning(pp *p, span at)
{
    span where;
    str message = lex_rest_of_line(&p->file->lex, &where);
    diag_raise(p->f->diags, K0026, at, "#warning: %.*s", (int)message.len, message.at);
}

// All tokens left on the line, expanded.
static token *expanded_line(pp *p, lexer *l, uint32_t *len)
{
    token_list line = pp_list_get(p, 8);
    token t;
    while (lex_next_in_line(l, &t)) {
        t.flags &= (uint8_t)~TF_LINE_START;
        vec_push(p->f->in, &line, t);
    }
    token_list list = pp_expand_list(p, line.at, line.len);
    pp_list_give(p, line);
    *len = list.len;
    return list.at;
}

// #include MACRO: the tokens of a header's name.
static bool header_from_tokens(pp *p, const token *list, uint32_t len, str *name, bool *is_quoted)
{
    if (len && list[0].kind == TOK_STRING && list[0].bytes.len > 2) {
        *name = (str){list[0].bytes.at + 1, list[0].bytes.len - 2};
        *is_quoted = true;
        return true;
    }
    if (!len || list[0].kind != TOK_LT)
        return false;
    text out = {.in = p->f->in};
    for (uint32_t i = 1; i < len; i++) {
        if (list[i].kind == TOK_GT) {
            *name = (str){out.at, out.len};
            *is_quoted = false;
            return out.len > 0;
        }
        str spelling = lex_spelling(&list[i]);
        if (out.len && list[i].flags & TF_SPACE)
            text_putc(&out, ' ');
        text_add(&out, spelling.at, spelling.len);
    }
    return false;
}

static void on_include(pp *p, span at)
{
    str name;
    bool is_quoted;
    span where;
    if (lex_header_name(&p->file->lex, &name, &is_quoted, &where) && name.len) {
        end_line(p, "include");
        pp_include(p, name, is_quoted, where);
        return;
    }
    uint32_t len;
    token *list = expanded_line(p, &p->file->lex, &len);
    if (header_from_tokens(p, list, len, &name, &is_quoted)) {
        pp_include(p, name, is_quoted, list[0].at);
        return;
    }
    where = len ? span_join(list[0].at, list[len - 1].at) : at;
    diag *d = diag_raise(p->f->diags, K0027, where, "#include needs \"file\" or <file>");
    diag_label(d, where, len ? "not the name of a header" : "nothing follows");
    if (len == 1 && list[0].kind == TOK_IDENT && !(list[0].flags & TF_FROM_MACRO))
        diag_fix(d, where, "quote the name", "\"%s\"", list[0].name);
}

static void on_line(pp *p, span at)
{
    uint32_t len;
    token *list = expanded_line(p, &p->file->lex, &len);
    token number = len ? list[0] : (token){0};
    if (number.kind == TOK_INT)
        lex_settle_number(p->f, &number);
    bool is_good = number.kind == TOK_INT && number.integer <= INT32_MAX &&
                   (len == 1 || list[1].kind == TOK_STRING);
    if (!is_good) {
        span where = len ? list[0].at : at;
        diag *d =
            diag_raise(p->f->diags, K0049, where, "#line needs a line number, then maybe \"file\"");
        diag_label(d, where, "expected a number up to 2147483647");
        return;
    }
    source_place here = source_find(p->f->sources, at.lo);
    const char *path = NULL;
    if (len > 1) {
        lex_settle_string(p->f, &list[1]);
        path = str_dup(p->f->in, list[1].bytes);
    }
    source_mark_line(p->f->sources, here.file, here.line + 1, (int64_t)number.integer, path);
}

// --- #pragma

static void bad_pragma(pp *p, span at, const char *message, const char *note)
{
    diag *d = diag_raise(p->f->diags, K0048, at, "%s", message);
    diag_label(d, at, "%s", note);
}

static void pragma_unroll(pp *p, lexer *l, span at)
{
    uint32_t len;
    token *list = expanded_line(p, l, &len);
    if (!len) {
        pp_emit_pragma(p, at, "unroll", -1);
        return;
    }
    span where = list[0].at.lo ? span_join(list[0].at, list[len - 1].at) : at;
    for (uint32_t i = 0; i < len; i++)
        if (list[i].kind == TOK_IDENT) { // an enum constant or a tune: only the parser knows it
            pp_emit_pragma(p, at, "unroll", 0);
            pp_emit_in_parens(p, list, len, where);
            return;
        }
    int64_t value;
    if (!pp_evaluate(p, list, len, where, &value))
        return;
    if (value < 1 || value > 65536)
        bad_pragma(p, where, "the count of #pragma unroll must be between 1 and 65536",
                   "1 means: do not unroll");
    else
        pp_emit_pragma(p, at, "unroll", (int32_t)value);
}

typedef struct pragma_row {
    const char *verb, *off, *on; // #pragma kiln verb(off) and verb(on)
} pragma_row;

static const pragma_row pragmas[] = {{"conversions", "strict", "c"},
                                     {"shifts", "wrap", "clamp"},
                                     {"early_return", "refuse", "allow"},
                                     {"variables", "host", "thread"},
                                     {"words", "kiln", "c"}};

static void pragma_kiln(pp *p, lexer *l, span at)
{
    token verb, open, mode;
    bool is_good = lex_next_in_line(l, &verb) && verb.kind == TOK_IDENT &&
                   lex_next_in_line(l, &open) && open.kind == TOK_LPAREN &&
                   lex_next_in_line(l, &mode) && mode.kind == TOK_IDENT;
    text known = {.in = p->f->in};
    for (size_t i = 0; i < COUNT(pragmas); i++) {
        const pragma_row *row = &pragmas[i];
        bool is_on = is_good && !strcmp(mode.name, row->on);
        if (is_good && !strcmp(verb.name, row->verb) && (is_on || !strcmp(mode.name, row->off))) {
            if (!strcmp(row->verb, "words"))
                p->has_plain_words = is_on;
            else
                pp_emit_pragma(p, at, row->verb, is_on);
            if (!strcmp(row->verb, "conversions"))
                p->is_lax = is_on;
            return;
        }
        text_printf(&known, "%s%s(%s), %s(%s)", i ? ", " : "", row->verb, row->on, row->verb,
                    row->off);
    }
    bad_pragma(p, at, "this #pragma kiln is not known",
               str_format(p->f->in, "known: %s", known.at));
}

// #pragma pack(4), pack(push), pack(push, 4), pack(pop), pack(); a name behind push and pop is
// C's hint for the reader.
static void pragma_pack(pp *p, lexer *l, span at)
{
    token t = {0};
    bool is_good = lex_next_in_line(l, &t) && t.kind == TOK_LPAREN && lex_next_in_line(l, &t);
    bool pushes = is_good && t.kind == TOK_IDENT && !strcmp(t.name, "push");
    bool pops = is_good && t.kind == TOK_IDENT && !strcmp(t.name, "pop");
    uint32_t pack = pushes ? p->pack : 0;
    if (pushes)
        vec_push(p->f->in, &p->packs, p->pack);
    if (pops && p->packs.len)
        pack = p->packs.at[--p->packs.len];
    bool needs_more = pushes || pops; // a comma and a name or a number, or the end
    if (needs_more)
        is_good = lex_next_in_line(l, &t);
    while (is_good && t.kind != TOK_RPAREN) {
        is_good = !needs_more || (t.kind == TOK_COMMA && lex_next_in_line(l, &t));
        if (is_good && t.kind == TOK_INT)
            lex_settle_number(p->f, &t);
        bool is_number =
            is_good && t.kind == TOK_INT && t.integer <= 16 && !(t.integer & (t.integer - 1));
        is_good &= is_number || (needs_more && t.kind == TOK_IDENT);
        pack = is_number ? (uint32_t)t.integer : pack;
        is_good = is_good && lex_next_in_line(l, &t);
        needs_more = true;
    }
    if (!is_good)
        bad_pragma(p, at, "this #pragma pack is not known",
                   "it takes 1, 2, 4, 8 or 16, push and pop");
    else
        pp_emit_pragma(p, at, "packed", (int32_t)(p->pack = pack));
}

void pp_pragma(pp *p, lexer *l, span at)
{
    token t;
    bool is_word = lex_next_in_line(l, &t) && t.kind == TOK_IDENT;
    if (is_word && !strcmp(t.name, "GCC"))
        is_word = lex_next_in_line(l, &t) && t.kind == TOK_IDENT && !strcmp(t.name, "unroll");
    if (!is_word)
        return;
    if (!strcmp(t.name, "once"))
        *map_at(&p->once, map_key(p->file->outer ? p->file->key : pp_main_key(p))) = 1;
    else if (!strcmp(t.name, "unroll"))
        pragma_unroll(p, l, at);
    else if (!strcmp(t.name, "nounroll"))
        pp_emit_pragma(p, at, "unroll", 1);
    else if (!strcmp(t.name, "kiln"))
        pragma_kiln(p, l, at);
    else if (!strcmp(t.name, "pack"))
        pragma_pack(p, l, at);
    else if (!strcmp(t.name, "scalar_storage_order"))
        pp_emit_pragma(p, at, "scalar_storage_order", 1);
    else if (!strcmp(t.name, "push_macro") || !strcmp(t.name, "pop_macro"))
        bad_pragma(p, at, "push_macro and pop_macro are not supported",
                   "use #undef and #define instead");
}

static void on_pragma(pp *p, span at)
{
    lexer *l = &p->file->lex;
    lexer ahead = *l;
    span rest;
    lex_rest_of_line(&ahead, &rest);
    pp_pragma(p, l, span_join(at, rest));
    // Pragmas of others may hold anything.
    while (l->at < ahead.at)
        l->at = ahead.at;
}

typedef struct directive_row {
    const char *name;
    void (*run)(pp *p, span at);
} directive_row;

static const directive_row directives[] = {
    {"if", on_if},           {"ifdef", on_ifdef}, {"ifndef", on_ifndef},       {"elif", on_elif},
    {"else", on_else},       {"endif", on_endif}, {"define", on_define},       {"undef", on_undef},
    {"include", on_include}, {"error", on_error}, {"warning", on_warning},     {"line", on_line},
    {"pragma", on_pragma},   {"ident", NULL},     {"include_next", on_include}};

static void complain_unknown(pp *p, const token *name)
{
    str spelling = lex_spelling(name);
    diag *d = diag_raise(p->f->diags, K0020, name->at, "there is no directive '#%.*s'",
                         spelling.len < 60 ? (int)spelling.len : 60, spelling.at);
    const char *best = NULL;
    unsigned best_distance = 3;
    if (best_distance > spelling.len)
        best_distance = (unsigned)spelling.len;
    for (size_t i = 0; i < COUNT(directives); i++)
        if (str_nearer(spelling, directives[i].name, &best_distance))
            best = directives[i].name;
    if (best) {
        diag_label(d, name->at, "did you mean '#%s'?", best);
        diag_fix(d, name->at, "use the directive of that name", "%s", best);
    } else {
        diag_label(d, name->at, "not a directive of C");
    }
}

void pp_directive(pp *p, const token *hash)
{
    token name;
    lexer *l = &p->file->lex, before = *l;
    if (!lex_next_in_line(l, &name))
        return;
    if (name.kind == TOK_INT) { // # 12 "file.c", as other preprocessors write it
        *l = before;
        on_line(p, hash->at);
        return;
    }
    for (size_t i = 0; name.kind == TOK_IDENT && i < COUNT(directives); i++)
        if (!strcmp(directives[i].name, name.name)) {
            if (directives[i].run)
                directives[i].run(p, span_join(hash->at, name.at));
            else
                end_line(p, NULL);
            return;
        }
    complain_unknown(p, &name);
    span rest;
    lex_rest_of_line(l, &rest);
}
