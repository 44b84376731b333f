// Declarations at file scope and in functions, and function bodies on demand.
//
// A file may hold host code beside kernels. A file-scope declaration is tried; when that fails and
// it bears no mark of ours, its errors are put away (host_diag), its names are entered as
// host-only, and the parser goes on behind it. A use from a kernel brings the error back. Bodies
// are parsed only when a kernel reaches them (parse_need_func). Start reading at parse_file.
#include "front/check.h"
#include "front/parse.h"

void parse_static_assert(parser *p)
{
    span at = here(p);
    step(p);
    span open = here(p);
    if (!expect(p, TOK_LPAREN, "'static_assert'"))
        return;
    ast_expr *condition = parse_cond(p), *message = NULL;
    if (accept(p, TOK_COMMA)) {
        if (kind(p) == TOK_STRING)
            message = parse_cond(p);
        else
            parse_expected(p, "a string literal as the message");
    }
    expect_close(p, TOK_RPAREN, open);
    if (!p->is_panicking)
        check_static_assert(p->f, condition, message, span_join(at, previous(p)));
    expect_semi(p, "static_assert(…)");
}

// --- functions

// Joins a declaration of a function with what is known of its name.
static ast_decl *declare_function(parser *p, const specifiers *s, const declarator *d)
{
    ast_decl *fn = new_decl(p, DECL_FUNC, d->name, d->at, d->type);
    ast_decl *old = scope_find_here(p->file_scope, d->name);
    bool is_own = old && old->kind == DECL_FUNC && old->body_first && // and not the header's
                  is_in_header(p->f, old->at) != is_in_header(p->f, d->at) &&
                  (is_in_header(p->f, d->at) || kind(p) == TOK_LBRACE);
    if (old && old->kind == DECL_FUNC && !old->is_host_only && !is_own &&
        type_same(old->type, d->type, true)) {
        if (old->type->has_no_prototype && !d->type->has_no_prototype)
            old->type = d->type;
        fn = old;
        if (p->is_trial)
            vec_push(p->f->in, &p->common->tried_names, fn);
    } else {
        scope *inner = p->scope;
        p->scope = p->file_scope;
        fn->is_file_scope = true;
        declare(p, fn);
        p->scope = inner;
    }
    if (p->scope != p->file_scope) {
        const ast_decl *here_too = scope_find_here(p->scope, d->name);
        if (here_too && here_too != fn) {
            diag *e = diag_raise(p->f->diags, K1008, d->at,
                                 "'%s' is already declared in this scope", d->name);
            diag_label(e, d->at, "declared again, as a function");
            diag_label(e, here_too->at, "first declared here");
        }
        *map_at(&p->scope->names, map_key(d->name)) = map_key(fn);
    }
    if (s->marks.host.lo) { // its parameters say how it is called
        fn->params.len = 0;
        for (uint32_t i = 0; i < d->params.len; i++)
            vec_push(p->f->in, &fn->params, d->params.at[i]);
    }
    fn->is_static |= s->storage == TOK_STATIC;
    fn->is_extern |= s->storage == TOK_EXTERN;
    fn->is_inline |= s->inline_at.lo != 0;
    fn->is_noreturn |= s->is_noreturn;
    fn->scope = p->file_scope;
    if (s->shared_at.lo) {
        diag *e = diag_raise(p->f->diags, K1110, s->shared_at, "a function cannot be shared");
        diag_label(e, s->shared_at, "'shared' is for variables of a block of threads");
    }
    if (s->storage == TOK_TYPEDEF || s->storage == TOK_AUTO || s->storage == TOK_REGISTER)
        diag_raise(p->f->diags, K1031, s->storage_at, "%s is not for functions",
                   token_kind_spelling(s->storage));
    return fn;
}

// Where the body that starts here ends: its partner, or, without one, before the next line that can
// only start something new.
static uint32_t find_body_end(const parser *p)
{
    const token *open = tok(p);
    if (open->match > p->at)
        return open->match + 1;
    for (uint32_t i = p->at + 1; i < p->end; i++)
        if (p->tokens[i].kind == TOK_KERNEL && (p->tokens[i].flags & TF_LINE_START))
            return i;
    return p->end;
}

static void define_function(parser *p, const specifiers *s, const declarator *d, ast_decl *fn)
{
    if (fn->body_first) { // host code may be odd: it matters only when a kernel reaches it
        fn->second_body = d->at;
        p->at = find_body_end(p);
        return;
    }
    if (fn->is_host || s->marks.host.lo) { // the host program's own body: not for a kernel
        apply_marks(p, s, fn, true);
        p->at = find_body_end(p);
        return;
    }
    fn->at = d->at;
    fn->params.len = 0;
    for (uint32_t i = 0; i < d->params.len; i++)
        vec_push(p->f->in, &fn->params, d->params.at[i]);
    fn->type = d->type;
    fn->tokens = p->tokens;
    fn->body_order = p->common->order;
    fn->is_lax = p->f->lax_conversions;
    fn->shifts = (uint8_t)p->f->shifts;
    fn->allows_early_return = p->f->allows_early_return;
    fn->has_thread_variables = p->f->has_thread_variables;
    fn->body_first = p->at;
    fn->body_end = find_body_end(p);
    p->at = fn->body_end;
    apply_marks(p, s, fn, true);
    if (fn->is_kernel && !p->is_library)
        vec_push(p->f->in, &p->f->kernels, fn);
}

static void nested_function(parser *p, const declarator *d)
{
    diag *e = diag_raise(p->f->diags, K1026, d->at, "a function cannot be defined in a function");
    diag_label(e, d->at, "'%s' is defined here, inside '%s'", d->name, p->f->current_func->name);
    diag_note(e, "move it above, as a 'static' function, and pass what it needs as parameters");
    skip_to_close(p, p->at);
    accept(p, TOK_RBRACE);
}

// --- variables

// `extern` in a block names the variable of the file.
static ast_decl *declare_extern(parser *p, ast_decl *v)
{
    ast_decl *of_file = scope_find_here(p->file_scope, v->name);
    bool is_same = of_file && of_file->kind == DECL_VAR && !of_file->is_host_only &&
                   type_composite(of_file->type, v->type);
    v->is_file_scope = true;
    if (of_file && !of_file->is_host_only && !is_same) {
        diag *e =
            diag_raise(p->f->diags, K1009, v->at, "'%s' was declared with another type", v->name);
        diag_label(e, v->at, "here it has type '%s'", type_text(p->f->in, v->type));
        diag_label(e, of_file->at, "and here '%s'", type_text(p->f->in, of_file->type));
        v->type = type_scalar(TY_POISON);
    }
    const ast_decl *here_too = scope_find_here(p->scope, v->name);
    if (is_same)
        v = of_file;
    if (here_too && here_too != v)
        return declare(p, v); // reports it
    *map_at(&p->scope->names, map_key(v->name)) = map_key(v);
    return v;
}

static ast_decl *declare_variable(parser *p, const specifiers *s, const declarator *d)
{
    ast_decl *v = new_decl(p, DECL_VAR, d->name, d->at, d->type);
    v->is_static = s->storage == TOK_STATIC;
    v->is_extern = s->storage == TOK_EXTERN;
    v->is_shared = s->shared_at.lo != 0;
    bool is_kept = !v->is_shared && (v->is_static || p->scope == p->file_scope);
    v->is_per_thread =
        s->is_per_thread || (p->f->has_thread_variables && is_kept && !p->is_library);
    v->align = s->align;
    v->is_register = s->storage == TOK_REGISTER;
    check_alignas(p, s, d->type);
    apply_marks(p, s, v, false);
    if (v->is_shared && v->is_extern && !(d->type->kind == TY_ARRAY && d->type->is_incomplete)) {
        diag *e = diag_raise(p->f->diags, K1110, s->storage_at, "shared memory is never extern");
        diag_label(e, s->storage_at, "only the dynamic array, shared T name[], may say so");
    }
    if (s->inline_at.lo || s->noreturn_at.lo) {
        span at = s->inline_at.lo ? s->inline_at : s->noreturn_at;
        diag_raise(p->f->diags, K1031, at, "%s is for functions",
                   s->inline_at.lo ? "'inline'" : "'_Noreturn'");
    }
    if (v->is_extern && !v->is_shared && p->scope != p->file_scope)
        return declare_extern(p, v);
    return declare(p, v);
}

static void parse_variable(parser *p, const specifiers *s, const declarator *d, ast_stmt *out)
{
    ast_decl *v = declare_variable(p, s, d);
    if (accept(p, TOK_ASSIGN)) {
        ast_expr *init = parse_init(p);
        if (out && s->storage == TOK_EXTERN) {
            diag *e = diag_raise(p->f->diags, K1031, s->storage_at,
                                 "an extern variable of a block has no value of its own");
            diag_label(e, init->at, "given here");
            return;
        }
        if (v->value_at.lo) {
            diag *e = diag_raise(p->f->diags, K1008, d->at, "'%s' already has a value", d->name);
            diag_label(e, d->at, "second definition");
            diag_label(e, v->value_at, "first one");
        } else if (!p->is_panicking) {
            v->value_at = d->at;
            check_init(p->f, v, init);
        }
        if (p->is_panicking)
            v->type = type_scalar(TY_POISON);
    }
    if (p->is_panicking)
        return;
    check_decl(p->f, v);
    if (out && !(v->is_file_scope && !v->is_shared))
        vec_push(p->f->in, &out->decls, v);
}

static void declare_typedef(parser *p, const specifiers *s, const declarator *d)
{
    ast_decl *t = new_decl(p, DECL_TYPEDEF, d->name, d->at, d->type);
    t->type = type_aligned(p->f->in, d->type, s->align);
    if (type_is_record(d->type) && !d->type->quals && !type_def(d->type)->synonym)
        d->type->definition->synonym = d->name; // how the program writes a struct without a tag
    if (s->shared_at.lo) {
        diag *e = diag_raise(p->f->diags, K1110, s->shared_at, "a type cannot be shared");
        diag_note(e, "write 'shared' where a variable is declared");
    }
    apply_marks(p, s, t, false);
    declare(p, t);
}

static void parse_nothing(parser *p, const specifiers *s)
{
    if (s->marks.kernel.lo)
        diag_raise(p->f->diags, K1103, s->marks.kernel, "no function follows this mark");
    else if (!s->has_tag && s->type->kind != TY_POISON) {
        diag *d = diag_raise(p->f->diags, K1044, s->at, "this declares nothing");
        diag_label(d, s->at, "a type without a name");
    }
    step(p);
}

static const char *what_ends(const declarator *d)
{
    return d->is_func ? "the prototype" : "the declaration";
}

// One declaration; `out` is NULL at file scope. True when it was a function's definition.
static bool parse_declaration(parser *p, ast_stmt *out)
{
    p->start = (start_mark){0};
    specifiers s = parse_specifiers(p, STORAGE_ANY);
    const start_mark of_all = p->start;
    if (kind(p) == TOK_SEMI && !p->is_panicking) {
        parse_nothing(p, &s);
        return false;
    }
    for (bool first = true; !p->is_panicking; first = false) {
        if (s.has_tag && first && (tok(p)->flags & TF_LINE_START) && starts_type(p)) {
            expect_semi(p, "the definition");
            return false;
        }
        uint32_t align = s.align;
        p->start = of_all;
        bool is_noreturn = s.is_noreturn; // beside one declarator it is said of that one alone
        p->met_noreturn = false;
        parse_attributes(p, &s.align, &s.align_at);
        declarator d = parse_declarator(p, s.type);
        parse_attributes(p, &s.align, &s.align_at);
        s.is_noreturn |= p->met_noreturn;
        if (!d.name && s.type->kind == TY_POISON)
            p->is_panicking = true; // the specifiers were wrong, and that was said
        else if (!d.name)
            parse_expected(p, s.has_tag || !first ? "a name or ';'" : "a name");
        if (p->is_panicking)
            break;
        if (s.storage == TOK_TYPEDEF) {
            declare_typedef(p, &s, &d);
        } else if (d.is_func && d.type->kind == TY_POISON) { // reported
            declare(p, new_decl(p, DECL_VAR, d.name, d.at, d.type));
            p->is_panicking = kind(p) == TOK_LBRACE;
        } else if (d.type->kind == TY_FUNC) {
            if (kind(p) == TOK_LBRACE && out) {
                nested_function(p, &d);
                return true;
            }
            if (kind(p) == TOK_LBRACE && !d.is_func) {
                diag *e = parse_error(p, K1040, d.at, "a function cannot be defined by a typedef");
                diag_label(e, d.at, "its parameters have no names");
                diag_note(e, "write the parameters behind the name");
                break;
            }
            if (s.marks.kernel.lo && starts_mark(p, &s.marks)) {
                diag *e = parse_error(p, K1001, here(p), "%s stands behind the function", found(p));
                diag_label(e, here(p), "the marks of a kernel stand before its name");
                diag_note(e, "write: kernel block(256) void %s(…)", d.name);
                break;
            }
            ast_decl *fn = declare_function(p, &s, &d);
            start_note(p, fn, p->start);
            if (kind(p) == TOK_LBRACE && first) {
                define_function(p, &s, &d, fn);
                return true;
            }
            apply_marks(p, &s, fn, false);
        } else {
            parse_variable(p, &s, &d, out);
        }
        s.align = align;
        s.is_noreturn = is_noreturn;
        if (!accept(p, TOK_COMMA)) {
            expect_semi(p, what_ends(&d));
            break;
        }
    }
    return false;
}

void parse_local_declaration(parser *p, ast_stmt *out)
{
    parse_declaration(p, out);
}

// --- file scope

static bool is_tag_word(unsigned k)
{
    return k == TOK_STRUCT || k == TOK_UNION || k == TOK_ENUM;
}

// Is the token at `i` the '{' of a function's body, not of a struct or an initialiser?
static bool opens_body(const parser *p, uint32_t i, uint32_t from)
{
    if (p->tokens[i].kind != TOK_LBRACE)
        return false;
    if (i == from) // what an old-style definition leaves over
        return true;
    unsigned before = p->tokens[i - 1].kind;
    bool is_tag = is_tag_word(before) ||
                  (before == TOK_IDENT && i > from + 1 && is_tag_word(p->tokens[i - 2].kind));
    return !is_tag && before != TOK_ASSIGN;
}

// `kernal void f()`: skipping it as host code would hide the mistake.
static bool resembles_mark(const parser *p)
{
    const token *t = tok(p);
    if (t->kind != TOK_IDENT || scope_find(p->scope, t->name))
        return false;
    str name = str_of(t->name);
    if (str_same(name, STR("__global__")))
        return true;
    return str_distance(name, STR("kernel"), 3) < 3 || str_distance(name, STR("shared"), 3) < 3;
}

// Does the declaration that starts here bear a mark of ours, so that its errors count?
static bool bears_mark(const parser *p)
{
    marks none = {0};
    if (starts_mark(p, &none) || resembles_mark(p))
        return true;
    for (uint32_t i = p->at; i < p->end; i++) {
        const token *t = &p->tokens[i];
        if (t->kind == TOK_KERNEL || t->kind == TOK_SHARED)
            return true;
        if (t->kind == TOK_SEMI || t->kind == TOK_ASSIGN || t->kind == TOK_RBRACE)
            return false;
        bool opens = t->kind == TOK_LPAREN || t->kind == TOK_LBRACE || t->kind == TOK_LBRACKET;
        if (opens && (t->match <= i || t->match >= p->end))
            return false;
        if (opens_body(p, i, p->at))
            return false; // a function's body
        if (opens)
            i = t->match;
    }
    return false;
}

// Behind the declaration that starts at `from`: after its ';' or its body.
static void skip_external(parser *p, uint32_t from)
{
    uint32_t reached = p->at;
    p->is_panicking = false;
    for (p->at = from; p->at < p->end;) {
        const token *t = tok(p);
        if (t->kind == TOK_KERNEL && p->at > from && (t->flags & TF_LINE_START) && p->at >= reached)
            return;
        bool opens = t->kind == TOK_LPAREN || t->kind == TOK_LBRACKET || t->kind == TOK_LBRACE;
        if (opens && t->match > p->at && t->match < p->end) {
            bool is_body = opens_body(p, p->at, from);
            p->at = t->match + 1;
            if (is_body)
                return;
            continue;
        }
        step(p);
        if (t->kind == TOK_SEMI)
            return;
    }
}

// The name that the declaration in [from, p->at) was probably about.
static const token *guess_name(const parser *p, uint32_t from, decl_kind *k)
{
    const token *name = NULL;
    *k = p->tokens[from].kind == TOK_TYPEDEF ? DECL_TYPEDEF : DECL_VAR;
    for (uint32_t i = from; i < p->at; i++) {
        const token *t = &p->tokens[i];
        bool opens = t->kind == TOK_LPAREN || t->kind == TOK_LBRACKET || t->kind == TOK_LBRACE;
        if (t->kind == TOK_IDENT && p->tokens[i + 1].kind != TOK_LBRACE)
            name = t;
        if (name && *k == DECL_VAR) {
            token_kind next = (token_kind)p->tokens[i + 1].kind;
            bool is_pointer = next == TOK_LPAREN && p->tokens[i + 2].kind == TOK_STAR;
            if (t == name && is_pointer) // f32 (*name)…
                return p->tokens[i + 3].kind == TOK_IDENT ? &p->tokens[i + 3] : NULL;
            if (t == name && next == TOK_LPAREN && p->tokens[i + 2].kind != TOK_STAR)
                *k = DECL_FUNC;
            if (t == name && (next == TOK_ASSIGN || next == TOK_SEMI || next == TOK_LPAREN))
                return name;
        }
        if (opens && t->match > i && t->match < p->at)
            i = t->match;
    }
    return name;
}

static void enter_host_names(parser *p, uint32_t from, diag *why)
{
    scope *s = p->file_scope;
    parse_common *c = p->common;
    for (uint32_t i = 0; i < c->tried_names.len; i++) {
        c->tried_names.at[i]->is_host_only = true;
        c->tried_names.at[i]->host_diag = why;
    }
    for (uint32_t i = 0; i < c->tried_tags.len; i++) {
        type *t = c->tried_tags.at[i];
        t->is_incomplete |= type_is_record(t);
        t->is_broken |= type_is_record(t);
        *map_at(&c->host_tags, map_key(t)) = map_key(why);
    }
    decl_kind k = DECL_VAR;
    const token *name = guess_name(p, from, &k);
    if (!name || scope_find_here(s, name->name))
        return;
    ast_decl *d = new_decl(p, k, name->name, name->at, type_scalar(TY_POISON));
    d->is_host_only = true;
    d->host_diag = why;
    *map_at(&s->names, map_key(d->name)) = map_key(d);
}

// A kernel inside what is skipped as host code would be missing without a word.
static void complain_hidden(parser *p, uint32_t from, const diag *why)
{
    for (uint32_t i = from; i < p->at; i++) {
        const token *t = &p->tokens[i];
        if (t->kind != TOK_KERNEL)
            continue;
        diag *d =
            diag_raise(p->f->diags, K1114, t->at, "this kernel stands in code that is skipped");
        diag_label(d, t->at, "a kernel is a function of its own, at file scope");
        diag_label(d, p->tokens[from].at, "what begins here is not Kiln C%s%s", why ? ": " : "",
                   why ? why->message : "");
        return;
    }
}

static void parse_external(parser *p)
{
    diags *ds = p->f->diags;
    uint32_t from = p->at;
    uint32_t kept = ds->list.len, errors = ds->error_count, warnings = ds->warning_count;
    uint32_t kernels = p->f->kernels.len;
    bool is_ours = p->is_library || bears_mark(p);
    p->is_trial = !is_ours;
    p->insists = false;
    p->common->tried_names.len = p->common->tried_tags.len = 0;
    bool is_function = parse_declaration(p, NULL);
    p->is_trial = false;
    if (ds->error_count == errors) {
        if (p->is_panicking)
            skip_external(p, from);
        return;
    }
    if (is_ours || p->insists) {
        if (p->is_panicking)
            skip_external(p, from);
        return;
    }
    diag *why = ds->list.len > kept ? ds->list.at[kept] : NULL;
    for (uint32_t i = kept; i < ds->list.len; i++)
        if (ds->list.at[i]->level == DIAG_ERROR) {
            why = ds->list.at[i];
            break;
        }
    ds->list.len = kept;
    ds->error_count = errors;
    ds->warning_count = warnings;
    p->f->kernels.len = kernels;
    uint32_t reached = p->at;
    skip_external(p, from);
    if (is_function && reached > p->at)
        p->at = reached;
    if (why)
        enter_host_names(p, from, why);
    complain_hidden(p, from, why);
}

// namespace a::b { … }: the names in it become names of the file.
static bool skip_namespace(parser *p)
{
    uint32_t at = p->at + 1;
    if (kind(p) != TOK_IDENT || strcmp(tok(p)->name, "namespace") != 0)
        return false;
    while (at < p->end && (p->tokens[at].kind == TOK_IDENT || p->tokens[at].kind == TOK_COLON))
        at++;
    if (at >= p->end || p->tokens[at].kind != TOK_LBRACE)
        return false;
    p->at = at;
    p->linkage_braces++;
    step(p);
    return true;
}

// extern "C" and extern "C" { … }: CUDA files have them; here every name is C's.
static bool skip_linkage(parser *p)
{
    if (skip_namespace(p))
        return true;
    if (kind(p) != TOK_EXTERN || p->at + 1 >= p->end || p->tokens[p->at + 1].kind != TOK_STRING)
        return false;
    step(p);
    step(p);
    if (kind(p) == TOK_LBRACE) {
        p->linkage_braces++;
        step(p);
    }
    return true;
}

static void parse_externals(parser *p)
{
    while (p->at < p->end) {
        uint32_t before = p->at;
        if (skip_linkage(p))
            continue;
        if (p->linkage_braces && kind(p) == TOK_RBRACE) {
            p->linkage_braces--;
            step(p);
            continue;
        }
        switch (kind(p)) {
        case TOK_SEMI: step(p); break;
        case TOK_PRAGMA:
            if (tok(p)->name == p->common->words[W_UNROLL]) {
                diag *d = diag_raise(p->f->diags, K1111, here(p),
                                     "this #pragma unroll is not before a loop");
                diag_label(d, here(p), "it has no effect");
            }
            parse_pragma(p);
            break;
        case TOK_STATIC_ASSERT: parse_static_assert(p); break;
        default:
            if (starts_tune(p))
                parse_tune(p);
            else
                parse_external(p);
        }
        if (p->is_panicking)
            skip_external(p, before);
        if (p->at == before)
            step(p);
    }
}

// --- bodies

static bool may_be_parsed(front *f, ast_decl *d, span use)
{
    const ast_decl *header = d->body_first ? NULL : find_header_name(f, d->name);
    if (header) {
        diag *e =
            diag_raise(f->diags, K1009, d->at, "'%s' was declared with another type", d->name);
        diag_label(e, d->at, "here it has type '%s'", type_text(f->in, d->type));
        diag_label(e, header->at, "and here '%s'", type_text(f->in, header->type));
        diag_label(e, use, "called here");
        return false;
    }
    if (!d->body_first) {
        diag *e = diag_raise(f->diags, K1035, use.lo ? use : d->at,
                             "'%s' is declared but has no body in this file", d->name);
        diag_label(e, use, "a kernel needs it here");
        diag_label(e, d->at, "declared here");
        const char *absent = absent_find(f, d->name);
        diag_note(e, "%s",
                  absent ? absent
                         : "Kiln compiles every function that a kernel calls, so it must "
                           "see the body");
        return false;
    }
    if (d->type->is_variadic && d->is_kernel) {
        diag *e = diag_raise(f->diags, K1034, d->at,
                             "a kernel cannot take a variable number of arguments");
        diag_label(e, d->at, "'%s' ends its parameters with '...'", d->name);
        diag_note(e, "take a pointer and a count");
        return false;
    }
    if (check_map_object(f, d->type->base, d->at, "returned by a function"))
        return false;
    if (type_is_incomplete(d->type->base)) {
        diag *e = diag_raise(f->diags, K1039, d->at, "'%s' returns '%s', which is not defined",
                             d->name, type_text(f->in, d->type->base));
        diag_label(e, d->at, "its size must be known here");
        diag_label(e, d->type->base->at, "only declared here");
        return false;
    }
    return true;
}

// What stands for '...': a pointer to the other arguments, 8 bytes each. It has no place in a
// source, so that the macros of <stdarg.h> may name it.
static ast_decl *rest_param(front *f)
{
    ast_decl *rest = arena_new_of(f->in, ast_decl);
    rest->kind = DECL_PARAM;
    rest->name = name_cstr(f->names, "__arguments");
    rest->type = type_pointer(f->in, type_scalar(TY_U64));
    rest->is_used = true;
    return rest;
}

static void declare_params(parser *p, ast_decl *d)
{
    if (d->type->is_variadic)
        vec_push(p->f->in, &d->params, rest_param(p->f));
    for (uint32_t i = 0; i < d->params.len; i++) {
        ast_decl *param = d->params.at[i];
        if (!param->name) {
            diag *e = diag_raise(p->f->diags, K1049, param->at, "parameter %u of '%s' has no name",
                                 i + 1, d->name);
            diag_label(e, param->at, "a definition names its parameters");
            continue;
        }
        if (!scope_find_here(p->scope,
                             param->name)) // a second one was reported with the declarator
            declare(p, param);
        check_decl(p->f, param);
        if (!d->is_kernel &&
            check_map_object(p->f, param->type, param->at, "a parameter of a function"))
            param->type = type_scalar(TY_POISON);
    }
}

static void parse_func_body(front *f, ast_decl *d)
{
    parser p = parser_make(f, d->tokens, d->body_first, d->body_end, scope_in(f, d->scope));
    p.file_scope = d->scope;
    p.is_library = f->file_scope != d->scope;
    parser *outer = p.common->current;
    bool is_lax = f->lax_conversions, has_thread_variables = f->has_thread_variables;
    shift_rule shifts = f->shifts;
    p.common->current = &p;
    f->lax_conversions = d->is_lax;
    f->has_thread_variables = d->has_thread_variables;
    f->shifts = (shift_rule)d->shifts;
    declare_params(&p, d);
    d->body = parse_block(&p, false);
    d->has_labels = p.labels.len != 0;
    if (d->is_kernel && d->has_thread_variables)
        start_calls(f, d);
    if (!p.had_error)
        check_body(f, d);
    f->lax_conversions = is_lax;
    f->has_thread_variables = has_thread_variables;
    f->shifts = shifts;
    p.common->current = outer;
}

void parse_need_func(front *f, ast_decl *d, span use)
{
    parse_common *c = parse_common_of(f);
    if (d->kind != DECL_FUNC || (!f->current_func && !d->is_kernel)) // a host initialiser's call
        return;
    if (d->state || d->is_host_only) // being parsed: it calls itself
        return;
    uint32_t spent = c->current ? c->current->depth + c->current->height + 10 : 0;
    if (c->stack + spent > PARSE_MAX_STACK) {
        diag *e = diag_raise(f->diags, K1007, use, "this chain of calls is too long");
        diag_note(e, "a function is read when the first call of it is");
        d->state = 2;
        return;
    }
    if (!d->is_kernel)
        vec_push(f->in, &f->reached, d);
    if (!may_be_parsed(f, d, use)) {
        d->state = 2;
        return;
    }
    if (d->second_body.lo) {
        diag *e = diag_raise(f->diags, K1008, d->second_body, "'%s' already has a body", d->name);
        diag_label(e, d->second_body, "second definition");
        diag_label(e, d->at, "first one");
    }
    ast_decl *caller = f->current_func;
    uint32_t unevaluated = f->unevaluated;
    f->current_func = d;
    f->unevaluated = 0;
    c->stack += spent;
    d->state = 1;
    parse_func_body(f, d);
    d->state = 2;
    c->stack -= spent;
    f->unevaluated = unevaluated;
    f->current_func = caller;
}

ast_decl *parse_library_func(front *f, const char *lib, const char *name)
{
    parse_common *c = parse_common_of(f);
    scope *s = NULL;
    for (uint32_t i = 0; i < c->libraries.len; i++)
        if (!strcmp(c->libraries.at[i].name, lib))
            s = c->libraries.at[i].scope;
    if (!s) {
        token *tokens = NULL;
        uint32_t count = 0;
        s = scope_in(f, NULL);
        vec_push(f->in, &c->libraries, (library){str_dup(f->in, str_of(lib)), s});
        if (!pp_library(f, lib, &tokens, &count) || !count)
            bug("library text %s is missing", lib);
        ast_decl *caller = f->current_func;
        f->current_func = NULL;
        parser p = parser_make(f, tokens, 0, count - 1, s);
        p.is_library = true;
        parse_externals(&p);
        f->current_func = caller;
    }
    return scope_find_here(s, name_cstr(f->names, name));
}

static void need_kernels(front *f)
{
    for (uint32_t i = 0; i < f->kernels.len; i++) {
        ast_decl *k = f->kernels.at[i];
        check_kernel_signature(f, k);
        parse_need_func(f, k, (span){0, 0});
    }
    const scope *s = f->file_scope;
    for (uint32_t i = 0; i < s->names.len; i++) {
        const ast_decl *d = (const ast_decl *)(uintptr_t)s->names.entries[i].value;
        if (d->kind != DECL_FUNC || !d->is_kernel || d->body_first || d->is_host_only)
            continue;
        diag *e = diag_raise(f->diags, K1102, d->at, "kernel '%s' has no body", d->name);
        diag_label(e, d->at, "only declared here");
        diag_note(e, "the host finds a kernel by name: it needs no prototype of it");
    }
}

// The preprocessor runs before anything is declared: an #if takes tunables and constants for 0.
static void check_conditions(front *f)
{
    for (uint32_t i = 0; i < f->taken_for_0.len; i++) {
        const token *t = &f->taken_for_0.at[i];
        const ast_decl *d = scope_find(f->file_scope, t->name);
        if (!d || (d->kind != DECL_TUNE && d->kind != DECL_ENUM_CONST))
            continue;
        const char *what = d->kind == DECL_TUNE ? "a tunable" : "an enum constant";
        diag *e =
            diag_raise(f->diags, K2211, t->at, "#if takes '%s' for 0: it is %s", t->name, what);
        diag_label(e, t->at, "not a macro");
        diag_label(e, d->at, "declared here");
        diag_note(e, "write if (%s …) in the kernel: the branch that is not taken is left out",
                  t->name);
    }
}

void parse_file(front *f)
{
    must(f->tokens.len && vec_last(&f->tokens).kind == TOK_EOF);
    f->file_scope = scope_in(f, NULL);
    parser p = parser_make(f, f->tokens.at, 0, f->tokens.len - 1, f->file_scope);
    parse_externals(&p);
    check_tune_choices(f);
    check_conditions(f);
    need_kernels(f);
}
