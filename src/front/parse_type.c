// Types as they are written: declaration specifiers and declarators to type objects.
// Invariant: every type made here has a bounded nesting (PARSE_MAX_NESTING) and a bounded size, so others
// may recurse over it and multiply without a check. Pointers to functions are never made.
// Start reading at parse_specifiers and declarator_into.
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
    if (d)
        return d->kind == DECL_TYPEDEF ? d->type : NULL;
    const uint64_t *known = map_find(&p->common->types, map_key(name));
    if (known)
        return (const type *)(uintptr_t)*known;
    const type *t = type_named(p->f->in, p->f->names, name);
    *map_at(&p->common->types, map_key(name)) = map_key(t);
    return t;
}

static bool is_type_keyword(token_kind k)
{
    switch ((int)k) {
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
    if (is_type_keyword(k))
        return true;
    ast_decl *d = NULL;
    parser look = *p;
    if (k != TOK_IDENT || !find_type_name(&look, tok(p)->name, &d))
        return false;
    return tok_ahead(p, 1)->kind != TOK_LPAREN || abstract_pointer_follows(p);
}

bool starts_type(const parser *p)
{
    token_kind k = kind(p);
    switch ((int)k) {
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
    }
    if (is_type_keyword(k))
        return true;
    ast_decl *d = NULL;
    parser look = *p;
    if (k != TOK_IDENT || !find_type_name(&look, tok(p)->name, &d))
        return false;
    if (tok_ahead(p, 1)->kind == TOK_LPAREN) // f32(x) is a call, f32 (*row)[8] is not
        return tok_ahead(p, 2)->kind == TOK_STAR;
    return true;
}

void unknown_type(parser *p)
{
    const token *t = tok(p);
    diag *d = diag_raise(p->f->diags, K1005, t->at, "unknown type name '%s'", t->name);
    const char *near = suggest_type(p, t->name);
    if (near && scope_find_tag(p->scope, t->name, false))
        near = NULL;
    if (near) {
        diag_label(d, t->at, "did you mean '%s'?", near);
        diag_fix(d, t->at, "use that type", "%s", near);
    } else if (scope_find_tag(p->scope, t->name, false)) {
        const type *tag = scope_find_tag(p->scope, t->name, false);
        const char *word = tag->is_enum ? "enum" : tag->kind == TY_UNION ? "union" : "struct";
        diag_label(d, t->at, "C needs the word '%s' before this tag", word);
        diag_fix(d, (span){t->at.lo, t->at.lo}, "write it", "%s ", word);
    } else {
        diag_label(d, t->at, "no type of this name is declared above");
    }
    step(p);
}

// --- attributes and alignment

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

static void parse_one_attribute(parser *p, uint32_t *align, span *align_at)
{
    span at = here(p);
    bool is_aligned = is_word(p, W_ALIGNED) || is_word(p, W_ALIGNED_);
    if (is_word(p, W_PACKED) || is_word(p, W_PACKED_)) {
        diag *d = diag_raise(p->f->diags, K1028, at, "packed structs are not supported");
        diag_label(d, at, "members would not be aligned, and GPUs cannot load across alignment");
        diag_note(d, "order the members by falling size, or read the bytes one by one");
    }
    step(p); // any identifier or keyword
    if (kind(p) != TOK_LPAREN)
        return;
    uint32_t open = p->at;
    step(p);
    if (is_aligned) {
        ast_expr *e = parse_cond(p);
        if (!p->is_panicking)
            set_align(p, e, span_join(at, e->at), align, align_at);
    }
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

static void skip_attributes(parser *p)
{
    uint32_t align = 0;
    span at = {0, 0};
    parse_attributes(p, &align, &at);
}

// --- specifiers

typedef struct spec_state {
    specifiers out;
    unsigned seen, quals;
    bool is_storage_ok;
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
    switch ((int)k) {
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

static unsigned qualifier(token_kind k)
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
        diag *d = diag_raise(p->f->diags, K1051, at, "thread-local variables are not supported");
        diag_note(d, "a variable inside the kernel already belongs to one thread");
        return;
    }
    if (!s->is_storage_ok) {
        diag *d = diag_raise(p->f->diags, K1031, at, "%s cannot stand here",
                             token_kind_spelling(k));
        diag_label(d, at, "members, parameters and type names have no storage class");
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
    if (kind(p) == TOK_INLINE)
        s->out.inline_at = here(p);
    step(p);
}

static void unsupported_type(parser *p, spec_state *s)
{
    span at = here(p);
    token_kind k = kind(p);
    step(p);
    diag *d = NULL;
    if (k == TOK_TYPEOF) {
        d = diag_raise(p->f->diags, K1017, at, "typeof is not supported");
        diag_note(d, "write the type out, or pick a function by type with _Generic");
    } else if (k == TOK_ATOMIC) {
        d = diag_raise(p->f->diags, K1025, at, "_Atomic is not supported");
        diag_note(d, "use a plain type and the atomic_… builtins, which name scope and order");
    } else {
        d = diag_raise(p->f->diags, K1024, at, "complex numbers are not supported");
        diag_note(d, "use f32x2, or a struct with two members, and write the products out");
        return;
    }
    diag_label(d, at, "not part of Kiln's C");
    if (kind(p) == TOK_LPAREN) {
        skip_to_close(p, p->at);
        accept(p, TOK_RPAREN);
        s->out.type = type_scalar(TY_POISON);
    } else if (k == TOK_TYPEOF) {
        s->out.type = type_scalar(TY_POISON);
    }
}

static bool has_type(const spec_state *s)
{
    return s->out.type || s->seen;
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

// Takes one specifier; false when there is none.
static bool take_specifier(parser *p, spec_state *s)
{
    token_kind k = kind(p);
    if (forgot_semi(p, s) || p->is_panicking)
        return false;
    if (starts_mark(p, &s->out.marks) && !(k == TOK_IDENT && has_type(s))) {
        parse_mark(p, &s->out.marks);
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
    switch ((int)k) {
    case TOK_TYPEDEF:
    case TOK_EXTERN:
    case TOK_STATIC:
    case TOK_AUTO:
    case TOK_REGISTER:
    case TOK_THREAD_LOCAL: add_storage(p, s); return true;
    case TOK_INLINE:
    case TOK_NORETURN: add_function_word(p, s); return true;
    case TOK_ATTRIBUTE: parse_attributes(p, &s->out.align, &s->out.align_at); return true;
    case TOK_ALIGNAS: parse_alignas(p, &s->out.align, &s->out.align_at); return true;
    case TOK_SHARED:
        s->out.shared_at = here(p);
        step(p);
        return true;
    case TOK_TYPEOF:
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
    }
    case TOK_IDENT:
        if (is_word(p, W_EXTENSION)) {
            step(p);
            return true;
        }
        return add_type_name(p, s);
    }
    return false;
}

static const type *missing_type(parser *p, const spec_state *s)
{
    token_kind next = kind_ahead(p, 1);
    bool looks_typed = next == TOK_IDENT || next == TOK_STAR || next == TOK_CONST ||
                       next == TOK_RPAREN || next == TOK_COMMA || next == TOK_LPAREN;
    bool has_marks = s->out.marks.kernel.lo || s->out.shared_at.lo;
    if (tok(p)->kind == TOK_IDENT && looks_typed && !(has_marks && next == TOK_LPAREN)) {
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
    bool is_kernel = s->out.marks.kernel.lo != 0;
    diag_fix(d, (span){at.lo, at.lo}, is_kernel ? "kernels return void" : "make it an i32",
             is_kernel ? "void " : "i32 ");
    return type_scalar(TY_POISON);
}

specifiers parse_specifiers(parser *p, bool allow_storage)
{
    spec_state s = {.is_storage_ok = allow_storage};
    s.out.at = here(p);
    s.out.storage = TOK_EOF;
    if (!enter(p)) {
        leave(p);
        s.out.type = type_scalar(TY_POISON);
        return s.out;
    }
    while (take_specifier(p, &s)) {
    }
    leave(p);
    if (!s.out.type)
        s.out.type = s.seen              ? type_of_words(p, &s)
                     : p->is_panicking ? type_scalar(TY_POISON)
                                         : missing_type(p, &s);
    else if (s.seen)
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

// --- declarators

static const type *bounded(parser *p, const type *t, span at)
{
    if (t->nesting <= PARSE_MAX_NESTING)
        return t;
    diag *d = parse_error(p, K1007, at, "this type is derived more than %d times",
                          PARSE_MAX_NESTING);
    diag_note(d, "pointers to pointers, arrays of arrays and structs in structs all count");
    return type_scalar(TY_POISON);
}

static const type *pointer_to(parser *p, const type *t, span at)
{
    if (t->kind != TY_FUNC)
        return bounded(p, type_pointer(p->f->in, t), at);
    diag *d = diag_raise(p->f->diags, K1015, at, "pointers to functions are not supported");
    diag_label(d, at, "this points to a function");
    diag_note(d, "every call is inlined: call the function by name, or choose with a switch");
    return type_scalar(TY_POISON);
}

static bool element_is_ok(parser *p, const type *t, span at)
{
    if (t->kind == TY_POISON)
        return true;
    if (t->kind != TY_VOID && t->kind != TY_FUNC && !type_is_incomplete(t))
        return true;
    const uint64_t *why = map_find(&p->common->host_tags, map_key(type_def(t)));
    if (why) {
        replay_host_diag(p, (diag *)(uintptr_t)*why, t->name, at);
    } else if (type_is_record(t)) {
        diag *d = diag_raise(p->f->diags, K1039, at, "'%s' is declared but not defined",
                             type_text(p->f->in, t));
        diag_label(d, at, "its size must be known here");
        diag_label(d, t->at, "only declared here");
    } else {
        diag *d = diag_raise(p->f->diags, K1040, at, "an array of '%s' is not possible",
                             type_text(p->f->in, t));
        if (t->kind == TY_ARRAY)
            diag_note(d, "only the first bound of an array may be left out");
    }
    return false;
}

// The bound of an array; false: it is no constant (or an error was given).
static bool eval_bound(parser *p, ast_expr *e, bool may_vary, uint64_t *len)
{
    ast_expr *checked = check_value(p->f, e);
    const_value value = {0};
    if (checked->type->kind == TY_POISON)
        return false;
    if (!type_is_integer(checked->type) || !const_eval(p->f, checked, &value)) {
        if (may_vary)
            return false;
        diag *d = diag_raise(p->f->diags, K1014, e->at, "the length of an array must be constant");
        diag_label(d, e->at, "this is known only when the kernel runs");
        diag_note(d, "use a constant, an enum, or tune(NAME, …); for a length decided at launch "
                     "use dynamic shared memory: shared f32 tile[];");
        return false;
    }
    bool is_negative = type_is_signed(checked->type) && (int64_t)value.integer < 0;
    if (!is_negative && value.integer) {
        *len = value.integer;
        return true;
    }
    diag *d = diag_raise(p->f->diags, K1041, e->at, "an array of %lld elements is not possible",
                         (long long)value.integer);
    diag_label(d, e->at, "at least one is needed");
    return false;
}

// `is_param`: an array declarator next to the name becomes a pointer, and its bound may be anything.
static void parse_suffix(parser *p, const type *base, declarator *out, bool is_param);
static void declarator_into(parser *p, const type *base, declarator *out, bool is_param);

static void array_suffix(parser *p, const type *base, declarator *out, bool is_param)
{
    span open = here(p);
    step(p);
    unsigned quals = 0;
    while (is_param && (qualifier(kind(p)) || kind(p) == TOK_STATIC)) {
        quals |= qualifier(kind(p));
        step(p);
    }
    ast_expr *bound = NULL;
    bool is_star = is_param && kind(p) == TOK_STAR && kind_ahead(p, 1) == TOK_RBRACKET;
    if (is_star)
        step(p);
    else if (kind(p) != TOK_RBRACKET)
        bound = parse_assign(p);
    expect_close(p, TOK_RBRACKET, open);
    span at = span_join(open, previous(p));
    uint64_t len = 0;
    bool has_len = bound && !p->is_panicking && eval_bound(p, bound, is_param, &len);
    bool is_poison = bound && !has_len && !is_param;
    parse_suffix(p, base, out, false);
    const type *element = out->type;
    if (p->is_panicking || !element_is_ok(p, element, at) || is_poison)
        out->type = type_scalar(TY_POISON);
    else if (is_param) // adjusted to a pointer at once
        out->type = type_qualified(p->f->in, pointer_to(p, element, at), quals);
    else if (has_len && type_size(element) && len > TYPE_MAX_BYTES / type_size(element)) {
        diag *d = diag_raise(p->f->diags, K1041, at, "this array is larger than 1 TiB");
        diag_label(d, at, "%llu elements of %llu bytes", (unsigned long long)len,
                   (unsigned long long)type_size(element));
        out->type = type_scalar(TY_POISON);
    } else {
        out->type = bounded(p, type_array(p->f->in, element, len, !has_len), at);
    }
}

// K&R: a list of bare names that are no types.
static bool is_name_list(parser *p)
{
    if (tok(p)->kind != TOK_IDENT)
        return false;
    ast_decl *d = NULL;
    token_kind next = kind_ahead(p, 1);
    if (find_type_name(p, tok(p)->name, &d) || (next != TOK_COMMA && next != TOK_RPAREN))
        return false;
    uint32_t by = 0;
    while (tok_ahead(p, by)->kind == TOK_IDENT || tok_ahead(p, by)->kind == TOK_COMMA)
        by++;
    if (tok_ahead(p, by)->kind != TOK_RPAREN)
        return false;
    token_kind after = kind_ahead(p, by + 1);
    return after == TOK_LBRACE || (after != TOK_SEMI && after != TOK_COMMA);
}

static ast_decl *parse_param(parser *p)
{
    specifiers s = parse_specifiers(p, false);
    declarator d = {.at = here(p), .type = s.type};
    if (s.shared_at.lo) {
        diag *e = diag_raise(p->f->diags, K1110, s.shared_at, "a parameter cannot be shared");
        diag_note(e, "pass a plain pointer: a pointer may point to shared memory");
    }
    if (s.marks.kernel.lo)
        diag_raise(p->f->diags, K1103, s.marks.kernel, "a parameter cannot be a kernel");
    declarator_into(p, s.type, &d, true);
    ast_decl *param = new_decl(p, DECL_PARAM, d.name, d.at, d.type);
    param->is_file_scope = false;
    param->align = s.align;
    if (d.type->kind == TY_FUNC)
        param->type = pointer_to(p, d.type, d.at);
    else if (d.type->kind == TY_VOID) {
        diag *e = diag_raise(p->f->diags, K1047, span_join(s.at, d.at),
                             "a parameter cannot have type void");
        diag_note(e, "'(void)' alone means: no parameters");
        param->type = type_scalar(TY_POISON);
    }
    const uint64_t *why = map_find(&p->common->host_tags, map_key(type_def(param->type)));
    if (why && type_is_incomplete(param->type))
        replay_host_diag(p, (diag *)(uintptr_t)*why, param->type->name, s.at);
    if (param->name)
        declare(p, param);
    return param;
}

static void name_list_error(parser *p, uint32_t open)
{
    span at = here(p);
    skip_to_close(p, open);
    diag *d = parse_error(p, K1019, span_join(at, previous(p)), "the parameters have no types");
    diag_label(d, span_join(at, previous(p)), "C before 1989 wrote functions so");
    diag_note(d, "write the types into the list: f(f32 a, f32 b)");
}

static void func_suffix(parser *p, const type *base, declarator *out)
{
    uint32_t open = p->at;
    span open_at = here(p);
    step(p);
    scope *outer = p->scope;
    out->scope = p->scope = scope_in(p->f, outer);
    out->params.len = 0;
    out->is_func = true;
    bool is_variadic = false, has_no_prototype = kind(p) == TOK_RPAREN;
    vec(const type *) types = {0};
    if (kind(p) == TOK_VOID && kind_ahead(p, 1) == TOK_RPAREN)
        step(p);
    else if (is_name_list(p))
        name_list_error(p, open);
    while (kind(p) != TOK_RPAREN && !p->is_panicking) {
        if (kind(p) == TOK_ELLIPSIS) {
            is_variadic = true;
            step(p);
            break;
        }
        ast_decl *param = parse_param(p);
        vec_push(p->f->in, &out->params, param);
        vec_push(p->f->in, &types, param->type->unqualified);
        if (!accept(p, TOK_COMMA))
            break;
    }
    expect_close(p, TOK_RPAREN, open_at);
    p->scope = outer;
    out->params_at = span_join(open_at, previous(p));
    if (kind(p) == TOK_LPAREN || kind(p) == TOK_LBRACKET) {
        diag *d = parse_error(p, K1040, here(p), "a function cannot return %s",
                              kind(p) == TOK_LPAREN ? "a function" : "an array");
        diag_note(d, "return a struct that holds the array, or fill one through a pointer");
    }
    type *t = (type *)(uintptr_t)type_func(p->f->in, base, types.at, types.len, is_variadic);
    t->has_no_prototype = has_no_prototype;
    out->type = bounded(p, t, out->params_at);
    if (base->kind == TY_ARRAY || base->kind == TY_FUNC) {
        diag *d = parse_error(p, K1040, out->params_at, "a function cannot return '%s'",
                              type_text(p->f->in, base));
        diag_note(d, "return a struct that holds the array, or fill one through a pointer");
        out->type = type_scalar(TY_POISON);
    }
}

static bool opens_nested_declarator(parser *p)
{
    token_kind next = kind_ahead(p, 1);
    if (next == TOK_STAR || next == TOK_LPAREN || next == TOK_LBRACKET || next == TOK_ATTRIBUTE)
        return true;
    parser look = *p;
    step(&look);
    return next == TOK_IDENT && !starts_type(&look) && !is_name_list(&look);
}

static void no_asm_label(parser *p)
{
    if (kind(p) != TOK_ASM)
        return;
    diag *d = parse_error(p, K1018, here(p), "inline assembly is not possible in a kernel");
    diag_note(d, "names and registers are chosen by the compiler");
}

static void parse_suffix(parser *p, const type *base, declarator *out, bool is_param)
{
    out->type = base;
    if (p->is_panicking)
        return;
    if (!enter(p)) {
        out->type = type_scalar(TY_POISON);
    } else if (kind(p) == TOK_LBRACKET) {
        array_suffix(p, base, out, is_param);
    } else if (kind(p) == TOK_LPAREN) {
        func_suffix(p, base, out);
    }
    leave(p);
}

static const type *parse_stars(parser *p, const type *t)
{
    while (kind(p) == TOK_STAR && !p->is_panicking) {
        span at = here(p);
        step(p);
        unsigned quals = 0;
        for (;; step(p)) {
            skip_attributes(p);
            unsigned q = qualifier(kind(p));
            if (!q)
                break;
            quals |= q;
        }
        t = type_qualified(p->f->in, pointer_to(p, t, at), quals);
    }
    return t;
}

static void declarator_into(parser *p, const type *base, declarator *out, bool is_param)
{
    if (!enter(p)) {
        leave(p);
        out->type = type_scalar(TY_POISON);
        return;
    }
    base = parse_stars(p, base);
    skip_attributes(p);
    if (tok(p)->kind == TOK_IDENT) {
        out->name = tok(p)->name;
        out->at = here(p);
        step(p);
        parse_suffix(p, base, out, is_param);
    } else if (kind(p) == TOK_LPAREN && opens_nested_declarator(p)) {
        // What stands behind the inner declarator belongs to the base, so it is read first.
        uint32_t open = p->at;
        step(p);
        skip_to_close(p, open);
        if (kind(p) == TOK_RPAREN) {
            step(p);
            parse_suffix(p, base, out, false);
            uint32_t after = p->at;
            p->at = open + 1;
            declarator_into(p, out->type, out, is_param);
            expect_close(p, TOK_RPAREN, p->tokens[open].at);
            p->at = after;
        } else {
            expect_close(p, TOK_RPAREN, p->tokens[open].at);
        }
    } else {
        out->at = here(p);
        parse_suffix(p, base, out, is_param);
    }
    no_asm_label(p);
    leave(p);
}

declarator parse_declarator(parser *p, const type *base)
{
    declarator d = {.type = base, .at = here(p)};
    declarator_into(p, base, &d, false);
    return d;
}

const type *parse_type_name(parser *p)
{
    if (!starts_type_name(p)) {
        if (tok(p)->kind == TOK_IDENT)
            unknown_type(p);
        else
            parse_expected(p, "a type");
        return type_scalar(TY_POISON);
    }
    specifiers s = parse_specifiers(p, false);
    declarator d = parse_declarator(p, s.type);
    if (d.name) {
        diag *e = parse_error(p, K1001, d.at, "expected only a type here, found the name '%s'",
                              d.name);
        diag_label(e, d.at, "a type in a cast or sizeof names no variable");
    }
    return d.type;
}
