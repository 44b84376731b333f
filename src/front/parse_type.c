// Declaration specifiers: the words before the names of a declaration, to a type and what else they
// say. Invariant: parse_specifiers always returns a type, the poison type after an error. Start
// reading at parse_specifiers; parse_declarator.c goes on from there.
#include "front/check.h"
#include "front/parse.h"

enum { // what was seen of C's own type words
    SEEN_VOID = 1,
    SEEN_BOOL = 2,
    SEEN_CHAR = 4,
    SEEN_SHORT = 8,
    SEEN_INT = 16,
    SEEN_LONG = 32,
    SEEN_LONG_LONG = 64,
    SEEN_FLOAT = 128,
    SEEN_DOUBLE = 256,
    SEEN_SIGNED = 512,
    SEEN_UNSIGNED = 1024,
};

const type *find_type_name(parser *p, const char *name, ast_decl **decl)
{
    ast_decl *d = *decl = scope_find(p->scope, name);
    if (d && d->is_file_scope && is_captured(p->f, here(p), d))
        d = *decl = find_header_name(p->f, name);
    if (d)
        return d->kind == DECL_TYPEDEF ? d->type : NULL;
    const uint64_t *known = map_find(&p->common->types, map_key(name));
    if (known)
        return (const type *)(uintptr_t)*known;
    const type *t = type_named(p->f->in, p->f->names, name);
    *map_at(&p->common->types, map_key(name)) = map_key(t);
    return t;
}

bool is_type_keyword(token_kind k)
{
    switch (k) {
    case TOK_VOID:
    case TOK_BOOL:
    case TOK_CHAR_:
    case TOK_SHORT:
    case TOK_INT_:
    case TOK_LONG:
    case TOK_FLOAT_:
    case TOK_DOUBLE:
    case TOK_SIGNED:
    case TOK_UNSIGNED:
    case TOK_STRUCT:
    case TOK_UNION:
    case TOK_ENUM:
    case TOK_CONST:
    case TOK_VOLATILE:
    case TOK_RESTRICT:
    case TOK_ATOMIC:
    case TOK_COMPLEX:
    case TOK_IMAGINARY:
    case TOK_TYPEOF: return true;
    default: break;
    }
    return false;
}

// After a type's name: does "(" open an abstract declarator, `(*)` or `(*const *)`?
static bool abstract_pointer_follows(const parser *p)
{
    uint32_t by = 1;
    if (tok_ahead(p, by)->kind != TOK_LPAREN || tok_ahead(p, by + 1)->kind != TOK_STAR)
        return false;
    for (by++;; by++) {
        token_kind k = kind_ahead(p, by);
        if (k == TOK_RPAREN)
            return true;
        if (k != TOK_STAR && k != TOK_CONST && k != TOK_VOLATILE && k != TOK_RESTRICT)
            return false;
    }
}

bool starts_type_name(const parser *p)
{
    token_kind k = kind(p);
    if (is_type_keyword(k) || k == TOK_ATTRIBUTE)
        return true;
    ast_decl *d = NULL;
    parser look = *p;
    if (k != TOK_IDENT || !find_type_name(&look, tok(p)->name, &d))
        return find_other_type(tok(p), NULL) || starts_other_word(p);
    return tok_ahead(p, 1)->kind != TOK_LPAREN || abstract_pointer_follows(p);
}

bool starts_type(const parser *p)
{
    if (is_word(p, W_EXTENSION)) {
        parser look = *p;
        step(&look);
        return starts_type(&look);
    }
    token_kind k = kind(p);
    switch (k) {
    case TOK_TYPEDEF:
    case TOK_EXTERN:
    case TOK_STATIC:
    case TOK_AUTO:
    case TOK_REGISTER:
    case TOK_INLINE:
    case TOK_NORETURN:
    case TOK_THREAD_LOCAL:
    case TOK_ALIGNAS:
    case TOK_ATTRIBUTE:
    case TOK_SHARED:
    case TOK_KERNEL: return true;
    default: break;
    }
    if (is_type_keyword(k))
        return true;
    ast_decl *d = NULL;
    parser look = *p;
    if (k != TOK_IDENT || !find_type_name(&look, tok(p)->name, &d))
        return find_other_type(tok(p), NULL) || starts_other_word(p);
    if (tok_ahead(p, 1)->kind == TOK_LPAREN) // f32(x) is a call, f32 (*row)[8] is not
        return tok_ahead(p, 2)->kind == TOK_STAR;
    return true;
}

void unknown_type(parser *p)
{
    const token *t = tok(p);
    const other_word *other = find_other_word(t);
    if (other) {
        complain_other_word(p, other, true);
        p->is_panicking = true;
        step(p);
        return;
    }
    diag *d = diag_raise(p->f->diags, K1005, t->at, "unknown type name '%s'", t->name);
    const char *near = suggest_type(p, t->name);
    if (near && scope_find_tag(p->scope, t->name, false))
        near = NULL;
    if (near) {
        diag_label(d, t->at, "did you mean '%s'?", near);
        bool is_mark = !strcmp(near, "kernel") || !strcmp(near, "shared");
        diag_fix(d, t->at, is_mark ? "use that word" : "use that type", "%s", near);
        p->is_panicking |= is_mark; // what follows is not a declarator
    } else if (scope_find_tag(p->scope, t->name, false)) {
        const type *tag = scope_find_tag(p->scope, t->name, false);
        const char *word = tag->is_enum ? "enum" : tag->kind == TY_UNION ? "union" : "struct";
        diag_label(d, t->at, "C needs the word '%s' before this tag", word);
        diag_fix(d, (span){t->at.lo, t->at.lo}, "write it", "%s ", word);
    } else {
        const char *absent = absent_find(p->f, t->name);
        diag_label(d, t->at, "no type of this name is declared above");
        if (absent)
            diag_note(d, "%s", absent);
    }
    step(p);
}

// --- attributes and alignment

enum { MOST_ALIGN = 16 };

static void set_align(parser *p, ast_expr *e, span at, uint32_t *align, span *align_at)
{
    int64_t value = 0;
    if (!check_const_int(p->f, e, &value, "alignment") || !value)
        return;
    if (value < 0 || value > 4096 || (value & (value - 1))) {
        diag *d = diag_raise(p->f->diags, K1048, at, "%lld is not an alignment", (long long)value);
        diag_label(d, at, "a power of two from 1 to 4096 is needed");
        return;
    }
    if ((uint32_t)value > *align)
        *align = (uint32_t)value;
    *align_at = at;
}

static void parse_alignas(parser *p, uint32_t *align, span *align_at)
{
    span at = here(p);
    step(p);
    span open = here(p);
    if (!expect(p, TOK_LPAREN, "'_Alignas'"))
        return;
    if (starts_type_name(p)) {
        const type *t = parse_type_name(p);
        if (type_align(t) > *align)
            *align = type_align(t);
        *align_at = at;
    } else {
        ast_expr *e = parse_cond(p);
        if (!p->is_panicking)
            set_align(p, e, span_join(at, e->at), align, align_at);
    }
    expect_close(p, TOK_RPAREN, open);
}

void check_alignas(parser *p, const specifiers *s, const type *t)
{
    if (!s->alignas_at.lo || !s->align || s->align >= type_align(t) || t->kind == TY_POISON)
        return;
    diag *d = diag_raise(p->f->diags, K1048, s->alignas_at, "_Alignas cannot lower an alignment");
    diag_label(d, s->alignas_at, "%u here, but '%s' is aligned to %u", s->align,
               type_text(p->f->in, t), type_align(t));
}

// Attributes that change what a declaration means. All others are hints: ignored.
static const char *const changing_attributes[] = {
    "vector_size", "ext_vector_type", "mode",         "cleanup",           "scalar_storage_order",
    "ms_struct",   "gcc_struct",      "overloadable", "transparent_union", "address_space",
    "alias",       "ifunc",           "weakref",
};

static bool changes_meaning(const token *t)
{
    if (t->kind != TOK_IDENT)
        return false;
    str name = str_of(t->name);
    if (name.len > 4 && !memcmp(name.at, "__", 2) && !memcmp(name.at + name.len - 2, "__", 2))
        name = (str){name.at + 2, name.len - 4};
    for (size_t i = 0; i < COUNT(changing_attributes); i++)
        if (str_same(name, str_of(changing_attributes[i])))
            return true;
    return false;
}

static void parse_one_attribute(parser *p, uint32_t *align, span *align_at)
{
    span at = here(p);
    bool is_aligned = is_word(p, W_ALIGNED) || is_word(p, W_ALIGNED_);
    if (is_word(p, W_NOINLINE) || is_word(p, W_NOINLINE_))
        p->noinline_at = at;
    p->met_noreturn |= kind(p) == TOK_NORETURN;
    if (is_word(p, W_PACKED) || is_word(p, W_PACKED_)) {
        p->packed_at = at;
        if (!p->may_be_packed)
            parse_useless_packed(p, at);
    }
    if (changes_meaning(tok(p))) {
        diag *d =
            diag_raise(p->f->diags, K1053, at, "the attribute '%s' is not supported", tok(p)->name);
        diag_label(d, at, "it changes what the declaration means");
        diag_note(d, "write it without GNU's extension: vectors are f32x4 and its family");
    }
    uint32_t *start = start_slot(p);
    step(p);                                   // any identifier or keyword
    if (is_aligned && kind(p) != TOK_LPAREN) { // as much as any type of the host needs
        *align = *align < MOST_ALIGN ? MOST_ALIGN : *align;
        *align_at = at;
    }
    if (kind(p) != TOK_LPAREN)
        return;
    uint32_t open = p->at;
    step(p);
    if (is_aligned) {
        ast_expr *e = parse_cond(p);
        if (!p->is_panicking)
            set_align(p, e, span_join(at, e->at), align, align_at);
    }
    if (start)
        start_priority(p, start);
    if (!p->is_panicking)
        skip_to_close(p, open);
    expect_close(p, TOK_RPAREN, p->tokens[open].at);
}

void parse_attributes(parser *p, uint32_t *align, span *align_at)
{
    while (kind(p) == TOK_ATTRIBUTE && !p->is_panicking) {
        step(p);
        span open = here(p);
        if (!expect(p, TOK_LPAREN, "'__attribute__'") || !expect(p, TOK_LPAREN, "'('"))
            return;
        while (kind(p) != TOK_RPAREN && p->at < p->end && !p->is_panicking) {
            if (!accept(p, TOK_COMMA))
                parse_one_attribute(p, align, align_at);
        }
        expect_close(p, TOK_RPAREN, open);
        expect_close(p, TOK_RPAREN, open);
    }
}

void parse_useless_packed(parser *p, span at)
{
    diag *d = diag_raise(p->f->diags, K1028, at, "'packed' does nothing here");
    diag_label(d, at, "the type has its layout already");
    diag_note(d, "it stands between the closing brace of a struct and the name, behind the word "
                 "'struct', or at a member");
}

span parse_packable_attributes(parser *p, uint32_t *align, span *align_at)
{
    span outer = p->packed_at;
    bool could = p->may_be_packed;
    p->packed_at = (span){0, 0};
    p->may_be_packed = true;
    parse_attributes(p, align, align_at);
    span met = p->packed_at;
    p->packed_at = outer;
    p->may_be_packed = could;
    return met;
}

// --- specifiers

typedef struct spec_state {
    specifiers out;
    unsigned seen, quals;
    storage_rule allowed;
} spec_state;

static const struct seen_row {
    unsigned seen;
    type_kind kind;
} seen_rows[] = {
    {SEEN_VOID, TY_VOID},
    {SEEN_BOOL, TY_BOOL},
    {SEEN_CHAR, TY_I8},
    {SEEN_CHAR | SEEN_UNSIGNED, TY_U8},
    {SEEN_SHORT, TY_I16},
    {SEEN_SHORT | SEEN_UNSIGNED, TY_U16},
    {SEEN_INT, TY_I32},
    {SEEN_UNSIGNED, TY_U32},
    {SEEN_INT | SEEN_UNSIGNED, TY_U32},
    {SEEN_LONG, TY_I64},
    {SEEN_LONG | SEEN_UNSIGNED, TY_U64},
    {SEEN_LONG_LONG, TY_I64},
    {SEEN_LONG_LONG | SEEN_UNSIGNED, TY_U64},
    {SEEN_FLOAT, TY_F32},
    {SEEN_DOUBLE, TY_F64},
};

static const type *type_of_words(parser *p, const spec_state *s)
{
    unsigned seen = s->seen;
    if (seen == (SEEN_LONG | SEEN_DOUBLE)) {
        diag *d = diag_raise(p->f->diags, K1029, s->out.type_at, "long double is not supported");
        diag_label(d, s->out.type_at, "no GPU has it");
        diag_fix(d, s->out.type_at, "use f64", "f64");
        return type_scalar(TY_POISON);
    }
    if (seen & SEEN_SIGNED) {
        unsigned rest = seen & ~(unsigned)SEEN_SIGNED;
        seen = rest ? rest : SEEN_INT;
        if (rest & (SEEN_UNSIGNED | SEEN_FLOAT | SEEN_DOUBLE | SEEN_VOID | SEEN_BOOL))
            seen = ~0u;
    }
    if (seen & (SEEN_SHORT | SEEN_LONG | SEEN_LONG_LONG) && seen != ~0u)
        seen &= ~(unsigned)SEEN_INT;
    for (size_t i = 0; i < COUNT(seen_rows); i++)
        if (seen_rows[i].seen == seen)
            return type_scalar(seen_rows[i].kind);
    diag *d = diag_raise(p->f->diags, K1030, s->out.type_at, "these words do not make a type");
    diag_label(d, s->out.type_at, "they contradict each other");
    return type_scalar(TY_POISON);
}

static bool add_type_word(spec_state *s, token_kind k)
{
    unsigned bit = 0;
    switch (k) {
    case TOK_VOID: bit = SEEN_VOID; break;
    case TOK_BOOL: bit = SEEN_BOOL; break;
    case TOK_CHAR_: bit = SEEN_CHAR; break;
    case TOK_SHORT: bit = SEEN_SHORT; break;
    case TOK_INT_: bit = SEEN_INT; break;
    case TOK_LONG: bit = SEEN_LONG; break;
    case TOK_FLOAT_: bit = SEEN_FLOAT; break;
    case TOK_DOUBLE: bit = SEEN_DOUBLE; break;
    case TOK_SIGNED: bit = SEEN_SIGNED; break;
    case TOK_UNSIGNED: bit = SEEN_UNSIGNED; break;
    default: return false;
    }
    if (bit == SEEN_LONG && (s->seen & SEEN_LONG)) {
        s->seen &= ~(unsigned)SEEN_LONG;
        bit = SEEN_LONG_LONG;
    } else if (s->seen & bit || (bit == SEEN_LONG && s->seen & SEEN_LONG_LONG)) {
        bit = SEEN_VOID | SEEN_BOOL; // said twice: no such type
    }
    s->seen |= bit;
    return true;
}

unsigned qualifier(token_kind k)
{
    return k == TOK_CONST      ? QUAL_CONST
           : k == TOK_VOLATILE ? QUAL_VOLATILE
           : k == TOK_RESTRICT ? QUAL_RESTRICT
                               : 0;
}

static void add_storage(parser *p, spec_state *s)
{
    token_kind k = kind(p);
    span at = here(p);
    step(p);
    if (k == TOK_THREAD_LOCAL) {
        const source_file *file = source_file_at(p->f->sources, at.lo);
        s->out.is_per_thread = file && file->is_builtin;
        if (s->out.is_per_thread)
            return;
        diag *d = diag_raise(p->f->diags, K1051, at, "thread-local variables are not supported");
        diag_note(d, "a variable inside the kernel already belongs to one thread");
        return;
    }
    bool is_file_scope = p->scope == p->file_scope && s->allowed == STORAGE_ANY;
    if (s->allowed == STORAGE_NONE || (s->allowed == STORAGE_REGISTER && k != TOK_REGISTER)) {
        diag *d =
            diag_raise(p->f->diags, K1031, at, "%s cannot stand here", token_kind_spelling(k));
        diag_label(d, at, "members, parameters and type names have no storage class");
        return;
    }
    if (is_file_scope && (k == TOK_REGISTER || k == TOK_AUTO)) {
        diag *d =
            diag_raise(p->f->diags, K1031, at, "%s cannot stand here", token_kind_spelling(k));
        diag_label(d, at, "only variables of a function can be so");
        return;
    }
    if (s->out.storage != TOK_EOF && s->out.storage != k) {
        diag *d = diag_raise(p->f->diags, K1030, at, "%s and %s exclude each other",
                             token_kind_spelling(s->out.storage), token_kind_spelling(k));
        diag_label(d, at, "second one");
        diag_label(d, s->out.storage_at, "first one");
        return;
    }
    s->out.storage = k;
    s->out.storage_at = at;
}

static void add_function_word(parser *p, spec_state *s)
{
    span at = here(p);
    if (s->allowed != STORAGE_ANY) {
        diag *d = diag_raise(p->f->diags, K1031, at, "%s cannot stand here", found(p));
        diag_label(d, at, "it is for functions");
    }
    if (kind(p) == TOK_INLINE)
        s->out.inline_at = at;
    else
        s->out.noreturn_at = at;
    s->out.is_noreturn |= kind(p) == TOK_NORETURN;
    step(p);
}

static void unsupported_type(parser *p, spec_state *s)
{
    span at = here(p);
    token_kind k = kind(p);
    step(p);
    diag *d = NULL;
    if (k == TOK_ATOMIC) {
        d = diag_raise(p->f->diags, K1025, at, "_Atomic is not supported");
        diag_note(d, "use a plain type and the atomic_… builtins, which name scope and order");
    } else {
        d = diag_raise(p->f->diags, K1024, at, "complex numbers are not supported");
        diag_label(d, at, "not part of Kiln's C");
        diag_note(d, "use f32x2, or a struct with two members, and write the products out");
        return;
    }
    diag_label(d, at, "not part of Kiln's C");
    if (kind(p) == TOK_LPAREN) {
        skip_to_close(p, p->at);
        accept(p, TOK_RPAREN);
        s->out.type = type_scalar(TY_POISON);
    }
}

// typeof (expression) or (type): a type with its qualifiers, as C23 has it.
static void add_typeof(parser *p, spec_state *s)
{
    span at = here(p);
    step(p);
    span open = here(p);
    const type *t = type_scalar(TY_POISON);
    if (expect(p, TOK_LPAREN, "'typeof'")) {
        if (starts_type_name(p)) {
            t = parse_type_name(p);
        } else {
            ast_expr *e = parse_expr(p);
            if (!p->is_panicking)
                t = check_typeof(p->f, e);
        }
        expect_close(p, TOK_RPAREN, open);
    }
    if (s->out.type && t->kind != TY_POISON) {
        diag *d = diag_raise(p->f->diags, K1030, at, "a second type in one declaration");
        diag_label(d, at, "is a ';' missing before this?");
    }
    s->out.type = t;
}

static bool has_type(const spec_state *s)
{
    return s->out.type || s->seen;
}

// A typedef of a record that was completed further down, in a way that was not understood.
static bool names_host_record(parser *p, const ast_decl *d, span use)
{
    const type *t = d->type;
    while (t->kind == TY_PTR || t->kind == TY_ARRAY)
        t = t->base;
    return type_is_record(t) && replay_host_tag(p, type_def(t), d->name, use);
}

// An identifier among the specifiers: a typedef's name, or nothing of ours.
static bool add_type_name(parser *p, spec_state *s)
{
    ast_decl *d = NULL;
    const token *t = tok(p);
    if (has_type(s))
        return false;
    const type *named = find_type_name(p, t->name, &d);
    if (!named)
        return false;
    if (d && d->is_host_only && d->host_diag)
        replay_host_diag(p, d->host_diag, d->name, t->at);
    else if (d && comes_later(p, d))
        used_too_early(p, d, t->at);
    else if (d && names_host_record(p, d, t->at))
        named = type_scalar(TY_POISON);
    s->out.type = named;
    step(p);
    return true;
}

// A struct's ';' forgotten at the end of a line: what follows starts a declaration of its own.
static bool forgot_semi(const parser *p, const spec_state *s)
{
    return s->out.has_tag && p->at && p->tokens[p->at - 1].kind == TOK_RBRACE &&
           (tok(p)->flags & TF_LINE_START);
}

// `unsigned __int128`, `_BitInt(12)` …: an error, and a type about which nothing more is said.
static bool add_other_type(parser *p, spec_state *s)
{
    bool combines = false;
    const other_word *other = find_other_type(tok(p), &combines);
    if (!other || s->out.type || (s->seen && !combines))
        return false;
    diag *d = diag_raise(p->f->diags, K1005, here(p), "Kiln C has no type '%s'", other->word);
    diag_label(d, here(p), "%s", other->advice);
    step(p);
    if (kind(p) == TOK_LPAREN && combines) {
        skip_to_close(p, p->at);
        accept(p, TOK_RPAREN);
    }
    s->out.type = type_scalar(TY_POISON);
    return true;
}

// `__shared__ f32 tile[32];`: read on as if our word stood there. At file scope the declaration
// ends: it is host code, or a kernel that begins in another language.
static bool add_other_word(parser *p, spec_state *s)
{
    const other_word *other = starts_other_word(p) ? find_other_word(tok(p)) : NULL;
    if (!other)
        return false;
    bool is_odd = other->is_shared && s->allowed != STORAGE_ANY;
    diag *d = complain_other_word(p, other, !is_odd);
    if (other->is_shared && !is_odd)
        s->out.shared_at = here(p);
    else if (is_odd)
        diag_note(d, SHARED_PARAMETER);
    bool is_directive = !strcmp(other->word, "using") || !strcmp(other->word, "namespace");
    p->is_panicking = p->scope == p->file_scope || is_directive;
    step(p);
    return true;
}

// Behind `word(…)`, is there one more name? Then the word is no function's.
static bool name_follows_brackets(const parser *p)
{
    uint32_t close = p->tokens[p->at + 1].match;
    return close > p->at && close + 1 < p->end && p->tokens[close + 1].kind == TOK_IDENT;
}

// `kernel threads(256) void`, `kernel(256) void`, `kernel block 256 void`.
static bool add_unknown_mark(parser *p, spec_state *s)
{
    if (!s->out.marks.kernel.lo || has_type(s) || p->at + 2 >= p->end)
        return false;
    span at = here(p);
    uint32_t open = p->at + (kind(p) == TOK_IDENT), close = p->tokens[open].match;
    token_kind after =
        close && close + 1 < p->end ? (token_kind)p->tokens[close + 1].kind : TOK_EOF;
    bool has_numbers = p->tokens[open].kind == TOK_LPAREN && close > open &&
                       (is_type_keyword(after) || after == TOK_IDENT);
    if (kind(p) == TOK_IDENT && has_numbers) {
        diag *d = diag_raise(p->f->diags, K1005, at, "'%s' is no mark of a kernel", tok(p)->name);
        bool is_near = str_distance(str_of(tok(p)->name), STR("block"), 3) < 3;
        diag_label(d, at,
                   is_near ? "did you mean 'block'?"
                           : "the threads of a block are block(256) or block(16, 16)");
        if (is_near)
            diag_fix(d, at, "use that word", "block");
    } else if (is_word(p, W_BLOCK) && kind_ahead(p, 1) == TOK_INT) {
        diag *d =
            diag_raise(p->f->diags, K1005, at, "'%s' takes its numbers in brackets", tok(p)->name);
        diag_label(d, at, "such as block(256)");
        close = p->at + 1;
    } else if (kind(p) == TOK_LPAREN && has_numbers) {
        diag *d = diag_raise(p->f->diags, K1005, at, "'kernel' takes no numbers");
        diag_label(d, at, "the threads of a block are block(256) or block(16, 16)");
        diag_fix(d, (span){at.lo, at.lo}, "write the mark", " block");
    } else {
        return false;
    }
    p->at = close + 1;
    return true;
}

// Takes one specifier; false when there is none.
static bool accept_specifier(parser *p, spec_state *s)
{
    token_kind k = kind(p);
    if (forgot_semi(p, s) || p->is_panicking)
        return false;
    if (starts_bounds(p) || (starts_mark(p, &s->out.marks) &&
                             (!(k == TOK_IDENT && has_type(s)) || name_follows_brackets(p)))) {
        parse_mark(p, &s->out.marks);
        return true;
    }
    if (starts_function_mark(p) && !has_type(s)) {
        parse_function_mark(p, &s->out.marks);
        return true;
    }
    if (add_type_word(s, k)) {
        step(p);
        s->out.type_at = span_join(s->out.type_at, previous(p));
        return true;
    }
    if (qualifier(k)) {
        s->quals |= qualifier(k);
        step(p);
        return true;
    }
    switch (k) {
    case TOK_TYPEDEF:
    case TOK_EXTERN:
    case TOK_STATIC:
    case TOK_AUTO:
    case TOK_REGISTER:
    case TOK_THREAD_LOCAL: add_storage(p, s); return true;
    case TOK_INLINE:
    case TOK_NORETURN: add_function_word(p, s); return true;
    case TOK_ATTRIBUTE:
        p->noinline_at = (span){0, 0};
        p->met_noreturn = false;
        parse_attributes(p, &s->out.align, &s->out.align_at);
        s->out.is_noreturn |= p->met_noreturn;
        if (p->noinline_at.lo)
            s->out.marks.noinline = p->noinline_at;
        return true;
    case TOK_ALIGNAS:
        s->out.alignas_at = here(p);
        parse_alignas(p, &s->out.align, &s->out.align_at);
        return true;
    case TOK_SHARED:
        s->out.shared_at = here(p);
        step(p);
        return true;
    case TOK_TYPEOF: add_typeof(p, s); return true;
    case TOK_ATOMIC:
    case TOK_COMPLEX:
    case TOK_IMAGINARY: unsupported_type(p, s); return true;
    case TOK_STRUCT:
    case TOK_UNION:
    case TOK_ENUM: {
        span at = here(p);
        const type *t = k == TOK_ENUM ? parse_enum(p) : parse_record(p);
        if (has_type(s)) {
            diag *d = diag_raise(p->f->diags, K1030, at, "a second type in one declaration");
            diag_label(d, at, "is a ';' missing before this?");
        }
        s->out.type = t;
        s->out.has_tag = true;
        return true;
    default: break;
    }
    case TOK_LPAREN: return add_unknown_mark(p, s);
    case TOK_IDENT:
        if (is_word(p, W_EXTENSION)) {
            step(p);
            return true;
        }
        return add_type_name(p, s) || add_other_type(p, s) || add_unknown_mark(p, s) ||
               (!has_type(s) && add_other_word(p, s));
    }
    return false;
}

// `main() {`: a function as C was before 1999, not a name that should have been a type.
static bool starts_old_function(const parser *p)
{
    parser look = *p;
    uint32_t open = p->at + 1;
    if (p->scope != p->file_scope || kind(p) != TOK_IDENT || kind_ahead(p, 1) != TOK_LPAREN)
        return false;
    look.at = open;
    skip_to_close(&look, open);
    if (kind(&look) != TOK_RPAREN)
        return false;
    look.at++;
    return kind(&look) == TOK_LBRACE || starts_type(&look);
}

static const type *missing_type(parser *p, const spec_state *s)
{
    token_kind next = kind_ahead(p, 1);
    bool looks_typed = next == TOK_IDENT || next == TOK_STAR || next == TOK_CONST ||
                       next == TOK_RPAREN || next == TOK_COMMA || next == TOK_LPAREN;
    bool has_marks = s->out.marks.kernel.lo || s->out.shared_at.lo;
    bool is_old_function = starts_old_function(p);
    if (complain_cpp(p))
        return type_scalar(TY_POISON);
    if (find_other_word(tok(p))) {
        complain_other_word(p, find_other_word(tok(p)), true);
        p->is_panicking = true;
        return type_scalar(TY_POISON);
    }
    if (tok(p)->kind == TOK_IDENT && looks_typed && !is_old_function &&
        !(has_marks && next == TOK_LPAREN)) {
        unknown_type(p);
        return type_scalar(TY_POISON);
    }
    if (tok(p)->kind != TOK_IDENT && tok(p)->kind != TOK_STAR) {
        parse_expected(p, "a type");
        return type_scalar(TY_POISON);
    }
    span at = here(p);
    diag *d = diag_raise(p->f->diags, K1032, at, "%s is declared without a type", found(p));
    diag_label(d, at, "a type belongs before this");
    if (s->out.storage == TOK_AUTO) {
        diag_label(d, s->out.storage_at, "C++: in C auto takes no type from the value");
        diag_note(d, "name the type, or write typeof(x) for the type of x");
        return type_scalar(TY_POISON);
    }
    bool is_kernel = s->out.marks.kernel.lo != 0;
    diag_fix(d, (span){at.lo, at.lo},
             is_kernel         ? "kernels return void"
             : is_old_function ? "say what the function returns"
                               : "make it an i32",
             is_kernel         ? "void "
             : is_old_function ? "int "
                               : "i32 ");
    return type_scalar(TY_POISON);
}

specifiers parse_specifiers(parser *p, storage_rule allowed)
{
    spec_state s = {.allowed = allowed};
    s.out.at = here(p);
    s.out.storage = TOK_EOF;
    if (!enter(p)) {
        leave(p);
        s.out.type = type_scalar(TY_POISON);
        return s.out;
    }
    while (accept_specifier(p, &s)) {
    }
    leave(p);
    if (!s.out.type)
        s.out.type = s.seen            ? type_of_words(p, &s)
                     : p->is_panicking ? type_scalar(TY_POISON)
                                       : missing_type(p, &s);
    else if (s.seen && s.out.type->kind != TY_POISON)
        diag_raise(p->f->diags, K1030, s.out.type_at, "two types in one declaration");
    if (s.quals & QUAL_RESTRICT) {
        if (s.out.type->kind != TY_PTR && s.out.type->kind != TY_POISON) {
            diag *d = diag_raise(p->f->diags, K1030, s.out.at, "only a pointer can be restrict");
            diag_note(d, "write it after the '*': f32 *restrict x");
            s.quals &= ~(unsigned)QUAL_RESTRICT;
        }
    }
    s.out.type = type_qualified(p->f->in, s.out.type, s.quals);
    s.out.at = span_join(s.out.at, previous(p));
    return s.out;
}
