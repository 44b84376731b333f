// struct, union and enum: tags, members, enumerators.
// Invariant: a record is completed at its closing brace or stays incomplete; a member's type is
// complete. Start reading at parse_record.
#include "front/parse.h"

typedef struct members {
    vec(field) list;
    map seen; // name -> index + 1 into `ats`
    vec(span) ats;
    uint32_t named;
    bool is_broken;
} members;

static void note_member(parser *p, members *m, const char *name, span at)
{
    uint64_t *slot = map_at(&m->seen, map_key(name));
    if (*slot) {
        span first = m->ats.at[*slot - 1];
        diag *d = diag_raise(p->f->diags, K1020, at, "there is already a member '%s'", name);
        diag_label(d, at, "second member of this name");
        diag_label(d, first, "first one");
        return;
    }
    vec_push(p->f->in, &m->ats, at);
    *slot = m->ats.len;
}

// The members of an anonymous struct or union are names of the outer one.
static void note_anonymous(parser *p, members *m, const type *t, span at)
{
    const type *def = type_def(t);
    for (uint32_t i = 0; i < def->fields.len; i++) {
        const field *f = &def->fields.at[i];
        if (f->name)
            note_member(p, m, f->name, f->at.lo ? f->at : at);
        else
            note_anonymous(p, m, f->type, at);
    }
}

static diag *bad_bits(parser *p, members *m, span at, const char *message)
{
    m->is_broken = true;
    diag *d = diag_raise(p->f->diags, K1013, at, "%s", message);
    return d;
}

// `: width` behind a declarator; true when the member is a bit-field of f's type.
static bool parse_bits(parser *p, members *m, const specifiers *s, const declarator *d,
                       bool *is_packed, field *f)
{
    span colon = here(p);
    step(p);
    ast_expr *e = parse_cond(p);
    int64_t width = 0;
    if (p->is_panicking || !check_const_int(p->f, e, &width, "width of a bit-field")) {
        m->is_broken = true;
        return false;
    }
    uint32_t align = s->align;
    span align_at = s->align_at;
    *is_packed |= parse_packable_attributes(p, &align, &align_at).lo != 0;
    const type *t = d->type;
    span at = span_join(colon, e->at);
    int64_t most = t->kind == TY_BOOL ? 1 : (int64_t)(8 * type_size(t));
    if (t->kind == TY_POISON) {
        m->is_broken = true;
        return false;
    }
    if (!type_is_integer(t)) {
        diag *r = bad_bits(p, m, d->at, "only integers can be bit-fields");
        diag_label(r, d->at, "this is '%s'", type_text(p->f->in, t));
        return false;
    }
    if (width < 0 || width > most || (!width && d->name)) {
        diag *r = bad_bits(p, m, at, "this bit-field has an impossible width");
        if (width)
            diag_label(r, at, "'%s' has 1 to %lld bits", type_text(p->f->in, t), (long long)most);
        else
            diag_label(r, at, "only an unnamed one can have no bits: it ends the row");
        return false;
    }
    if (align) {
        diag *r = bad_bits(p, m, align_at, "a bit-field has no alignment of its own");
        diag_note(r, "an unnamed one of width 0 starts a new unit");
        return false;
    }
    *f = (field){.name = d->name, .type = t, .at = d->at, .bits = (int16_t)(width ? width : -1)};
    return true;
}

static void add_bits(parser *p, members *m, const specifiers *s, const declarator *d,
                     bool is_packed)
{
    field f = {0};
    if (!parse_bits(p, m, s, d, &is_packed, &f))
        return;
    f.is_packed = is_packed;
    if (f.name)
        note_member(p, m, f.name, f.at);
    m->named += f.name != NULL;
    vec_push(p->f->in, &m->list, f);
}

static bool member_type_is_ok(parser *p, const declarator *d)
{
    const type *t = d->type;
    if (t->kind == TY_FUNC) {
        diag *e = diag_raise(p->f->diags, K1015, d->at, "a member cannot be a function");
        diag_note(e, "write a pointer to a function: (*name)(…)");
        return false;
    }
    if (type_flexible(t)) {
        diag *e = diag_raise(p->f->diags, K1027, d->at,
                             "a struct with a flexible array cannot be a member");
        diag_label(e, d->at, "nobody knows where it ends");
        diag_label(e, type_flexible(t)->at, "the array without a length");
        diag_note(e, "keep a pointer to it");
        return false;
    }
    if (t->kind == TY_ARRAY && t->is_incomplete) // see check_flexible
        return true;
    if (check_map_object(p->f, t, d->at, "a member"))
        return false;
    if (t->kind != TY_VOID && !type_is_incomplete(t))
        return true;
    diag *e = diag_raise(p->f->diags, K1039, d->at, "a member cannot have type '%s'",
                         type_text(p->f->in, t));
    diag_label(e, d->at, t->kind == TY_VOID ? "void has no size" : "it is not defined yet");
    if (type_is_record(t))
        diag_label(e, t->at, "only declared here");
    return false;
}

static void add_member(parser *p, members *m, const specifiers *s, const declarator *d,
                       bool is_packed)
{
    if (!member_type_is_ok(p, d)) {
        m->is_broken = true;
        return;
    }
    check_alignas(p, s, d->type);
    field f = {.name = d->name, .at = d->at, .is_packed = is_packed, .asked_align = s->align};
    f.type = type_aligned(p->f->in, d->type, s->align);
    if (d->name)
        note_member(p, m, d->name, d->at);
    else
        note_anonymous(p, m, d->type, s->at);
    m->named++;
    vec_push(p->f->in, &m->list, f);
}

static void misplaced_marks(parser *p, const specifiers *s)
{
    if (s->shared_at.lo) {
        diag *d = diag_raise(p->f->diags, K1110, s->shared_at, "a member cannot be shared");
        diag_note(d, "make the whole struct variable shared");
    }
    if (s->marks.kernel.lo)
        diag_raise(p->f->diags, K1103, s->marks.kernel, "a member cannot be a kernel");
}

static void parse_member_line(parser *p, members *m)
{
    if (kind(p) == TOK_STATIC_ASSERT) {
        parse_static_assert(p);
        return;
    }
    bool could = p->may_be_packed;
    span outer = p->packed_at;
    p->may_be_packed = true;
    p->packed_at = (span){0, 0};
    specifiers s = parse_specifiers(p, STORAGE_NONE);
    const bool are_packed = p->packed_at.lo != 0;
    p->may_be_packed = could;
    p->packed_at = outer;
    misplaced_marks(p, &s);
    if (kind(p) == TOK_SEMI) { // an anonymous struct or union, or a tag alone
        declarator d = {.at = s.at, .type = s.type};
        if (type_is_record(s.type) && !s.type->name)
            add_member(p, m, &s, &d, are_packed);
        else if (!s.has_tag)
            diag_raise(p->f->diags, K1044, s.at, "this line declares no member");
    }
    const specifiers of_all = s; // attributes beside one declarator are of that one alone
    while (kind(p) != TOK_SEMI && !p->is_panicking) {
        s = of_all;
        bool is_packed = are_packed;
        is_packed |= parse_packable_attributes(p, &s.align, &s.align_at).lo != 0;
        declarator d = {.at = here(p), .type = s.type};
        if (kind(p) != TOK_COLON)
            d = parse_declarator(p, s.type);
        if (kind(p) == TOK_COLON)
            add_bits(p, m, &s, &d, is_packed);
        else if (!d.name)
            parse_expected(p, "the name of a member");
        else {
            is_packed |= parse_packable_attributes(p, &s.align, &s.align_at).lo != 0;
            if (!p->is_panicking)
                add_member(p, m, &s, &d, is_packed);
        }
        if (!accept(p, TOK_COMMA))
            break;
    }
    expect_semi(p, "the member");
}

// An array without a length is the last of a struct's members, and not the only one.
static void check_flexible(parser *p, members *m, const type *record)
{
    for (uint32_t i = 0; i < m->list.len; i++) {
        const field *f = &m->list.at[i];
        if (f->type->kind != TY_ARRAY || !f->type->is_incomplete)
            continue;
        bool is_last = i + 1 == m->list.len, is_union = record->kind == TY_UNION;
        if (is_last && !is_union && m->named > 1)
            return;
        diag *d = diag_raise(p->f->diags, K1027, f->at, "'%s' has no length", f->name);
        diag_label(d, f->at, "%s",
                   is_union   ? "a union has no member of that kind"
                   : !is_last ? "only the last member of a struct may leave it out"
                              : "a struct needs another member before such an array");
        m->is_broken = true;
        return;
    }
}

// A bit-field that lies in nine bytes: no access has its bits at once.
static void check_wide_bits(parser *p, const type *record)
{
    for (uint32_t i = 0; i < record->fields.len; i++) {
        const field *f = &record->fields.at[i];
        if (f->units <= 8)
            continue;
        diag *d = diag_raise(p->f->diags, K1013, f->at, "this bit-field lies in nine bytes");
        diag_label(d, f->at, "%d bits, the first of them in the middle of a byte", f->bits);
        diag_note(d, "an unnamed one of width 0 starts a new unit");
    }
}

static void parse_members(parser *p, type *record, uint32_t align, bool is_packed)
{
    span open = here(p);
    step(p);
    members m = {.seen = map_make(p->f->in)};
    uint32_t pack = p->common->pack;
    while (kind(p) != TOK_RBRACE && p->at < p->end) {
        parse_member_line(p, &m);
        if (p->is_panicking) {
            m.is_broken = true;
            skip_statement(p);
        }
    }
    bool closed = expect_close(p, TOK_RBRACE, open);
    if (p->common->order_at.lo) {
        diag *d = diag_raise(p->f->diags, K1053, record->at, "bytes have the host's order");
        diag_label(d, p->common->order_at, "this holds for the structs below it");
        diag_note(d, "turn the bytes of a number with __builtin_bswap32 and its family");
        m.is_broken = true;
    }
    span at_end = {0, 0};
    is_packed |= parse_packable_attributes(p, &align, &at_end).lo != 0;
    for (uint32_t i = 0; i < m.list.len; i++)
        m.list.at[i].is_packed |= is_packed;
    if (!m.named && !m.is_broken && closed) {
        diag *d = diag_raise(p->f->diags, K1038, span_join(open, previous(p)),
                             "a %s needs a member", record->kind == TY_UNION ? "union" : "struct");
        diag_note(d, "C gives an empty one no size; the host's compilers do not agree on it");
        m.is_broken = true;
    }
    check_flexible(p, &m, record);
    record->is_broken = m.is_broken;
    bool is_complete = type_complete(record, m.list.at, m.list.len, align, pack);
    if (!is_complete && record->is_incomplete && !m.is_broken)
        diag_raise(p->f->diags, K1041, record->at, "this type is larger than 1 TiB");
    check_wide_bits(p, record);
    if (record->nesting > PARSE_MAX_NESTING)
        parse_error(p, K1007, record->at, "this type is derived more than %d times",
                    PARSE_MAX_NESTING);
}

static void wrong_tag(parser *p, const type *old, const char *tag, span at)
{
    const char *was = old->is_enum ? "an enum" : old->kind == TY_UNION ? "a union" : "a struct";
    diag *d = diag_raise(p->f->diags, K1043, at, "'%s' is the tag of another kind of type", tag);
    diag_label(d, at, "used as another kind here");
    diag_label(d, old->at, "declared as %s", was);
    try_tag(p, old);
}

static void defined_twice(parser *p, const type *old, const char *tag, span at)
{
    diag *d = diag_raise(p->f->diags, K1008, at, "'%s' is already defined in this scope", tag);
    diag_label(d, at, "defined again");
    diag_label(d, old->at, "first defined here");
    try_tag(p, old);
}

// The record that `tag` means here, or a new one. NULL: it means something else (reported).
static type *record_of_tag(parser *p, type_kind k, const char *tag, span at, bool defines)
{
    bool here_only = defines || kind(p) == TOK_SEMI;
    type *old = scope_find_tag(p->scope, tag, here_only);
    if (old && (old->kind != k || old->is_enum)) {
        wrong_tag(p, old, tag, at);
        return defines ? type_record(p->f->in, k, tag, at) : NULL;
    }
    if (old && defines && !old->is_incomplete) {
        defined_twice(p, old, tag, at);
        return type_record(p->f->in, k, tag, at);
    }
    if (old) {
        if (defines)
            old->at = at;
        return old;
    }
    type *t = type_record(p->f->in, k, tag, at);
    scope_add_tag(p->scope, tag, t);
    try_tag(p, t);
    return t;
}

// The keyword, attributes and the tag, NULL without one; `at` is where it stands, else the keyword;
// `packed_at`: of that attribute.
static const char *parse_tag(parser *p, uint32_t *align, span *packed_at, span *at)
{
    span align_at = {0, 0};
    *at = here(p);
    step(p);
    *packed_at = parse_packable_attributes(p, align, &align_at);
    if (tok(p)->kind != TOK_IDENT)
        return NULL;
    const char *tag = tok(p)->name;
    *at = here(p);
    step(p);
    return tag;
}

const type *parse_record(parser *p)
{
    type_kind k = kind(p) == TOK_UNION ? TY_UNION : TY_STRUCT;
    uint32_t align = 0;
    span at, packed_at;
    const char *tag = parse_tag(p, &align, &packed_at, &at);
    bool defines = kind(p) == TOK_LBRACE;
    if (!defines && packed_at.lo)
        parse_useless_packed(p, packed_at);
    if (!tag && !defines) {
        parse_expected(p, "a tag or '{'");
        return type_scalar(TY_POISON);
    }
    type *t = tag ? record_of_tag(p, k, tag, at, defines) : type_record(p->f->in, k, NULL, at);
    if (!t || (!defines && replay_host_tag(p, t, tag, at)))
        return type_scalar(TY_POISON);
    if (defines) {
        try_tag(p, t);
        parse_members(p, t, align, packed_at.lo != 0);
    }
    return t;
}

// --- enum

static const type *enum_type(parser *p, const char *tag, span at, bool is_signed)
{
    type *t = arena_copy(p->f->in, type_scalar(is_signed ? TY_I32 : TY_U32), sizeof *t);
    t->is_enum = true;
    t->name = tag;
    t->unqualified = t;
    t->at = at;
    return t;
}

static void parse_enumerator(parser *p, int64_t *next, bool *is_signed)
{
    const token *name = tok(p);
    if (name->kind != TOK_IDENT) {
        parse_expected(p, "the name of an enum constant");
        return;
    }
    step(p);
    uint32_t align = 0;
    span at = name->at, align_at = {0, 0};
    parse_attributes(p, &align, &align_at);
    if (accept(p, TOK_ASSIGN)) {
        ast_expr *e = parse_cond(p);
        at = span_join(at, e->at);
        if (p->is_panicking)
            return;
        const char *what = str_format(p->f->in, "value of '%s'", name->name);
        if (!check_const_int(p->f, e, next, what))
            *next = 0;
    }
    if (*next < INT32_MIN || *next > INT32_MAX) {
        diag *d = diag_raise(p->f->diags, K1042, at, "'%s' is %lld, which no int can hold",
                             name->name, (long long)*next);
        diag_label(d, at, "enum constants are 32-bit integers");
        *next = 0;
    }
    ast_decl *d = new_decl(p, DECL_ENUM_CONST, name->name, name->at, type_scalar(TY_I32));
    d->value = *next;
    *is_signed |= *next < 0;
    declare(p, d);
    if (p->scope == p->file_scope)
        vec_push(p->f->in, &p->f->constants, d);
    ++*next;
}

static bool parse_enumerators(parser *p)
{
    span open = here(p);
    int64_t next = 0;
    bool is_signed = false;
    step(p);
    if (kind(p) == TOK_RBRACE) {
        diag *d =
            diag_raise(p->f->diags, K1023, span_join(open, here(p)), "an enum needs a constant");
        diag_label(d, span_join(open, here(p)), "nothing in here");
    }
    while (kind(p) != TOK_RBRACE && !p->is_panicking) {
        parse_enumerator(p, &next, &is_signed);
        if (!accept(p, TOK_COMMA))
            break;
    }
    expect_close(p, TOK_RBRACE, open);
    return is_signed;
}

const type *parse_enum(parser *p)
{
    uint32_t align = 0;
    span at, packed_at, align_at = {0, 0};
    const char *tag = parse_tag(p, &align, &packed_at, &at);
    if (packed_at.lo) {
        diag *d = diag_raise(p->f->diags, K1028, packed_at, "packed enums are not supported");
        diag_label(d, packed_at, "an enum has the size of an int");
    }
    bool defines = kind(p) == TOK_LBRACE;
    type *old = tag ? scope_find_tag(p->scope, tag, defines) : NULL;
    if (old && !old->is_enum) {
        wrong_tag(p, old, tag, at);
        old = NULL;
    } else if (old && defines) {
        defined_twice(p, old, tag, at);
    }
    if (!defines && old)
        return replay_host_tag(p, old, tag, at) ? type_scalar(TY_POISON) : old;
    if (!defines) {
        if (!tag) {
            parse_expected(p, "a tag or '{'");
            return type_scalar(TY_POISON);
        }
        diag *d = diag_raise(p->f->diags, K1039, at, "'enum %s' is not defined", tag);
        diag_label(d, at, "its constants must be listed before it is used");
        return type_scalar(TY_POISON);
    }
    const type *t = enum_type(p, tag, at, parse_enumerators(p));
    parse_attributes(p, &align, &align_at);
    if (tag)
        scope_add_tag(p->scope, tag, t);
    try_tag(p, t);
    return t;
}
