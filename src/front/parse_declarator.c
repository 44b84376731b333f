// Declarators: what stands around a declared name ('*', '[4]', '(f32 a)') turned into a type; type
// names in casts and sizeof. Invariant: every type made here has a bounded nesting
// (PARSE_MAX_NESTING) and a bounded size, so others may recurse over it and multiply without a
// check. Start reading at declarator_into.
#include "front/check.h"
#include "front/parse.h"

// Alignments are for variables and members: those read them themselves.
static void skip_attributes(parser *p)
{
    uint32_t align = 0;
    span at = {0, 0};
    parse_attributes(p, &align, &at);
}

static const type *bounded(parser *p, const type *t, span at)
{
    if (t->nesting <= PARSE_MAX_NESTING)
        return t;
    diag *d =
        parse_error(p, K1007, at, "this type is derived more than %d times", PARSE_MAX_NESTING);
    diag_note(d, "pointers to pointers, arrays of arrays and structs in structs all count");
    return type_scalar(TY_POISON);
}

static const type *pointer_to(parser *p, const type *t, span at)
{
    return bounded(p, type_pointer(p->f->in, t), at);
}

static bool element_is_ok(parser *p, const type *t, span at)
{
    if (t->kind == TY_POISON)
        return true;
    if (check_map_object(p->f, t, at, "an element of an array"))
        return false;
    if (type_flexible(t)) {
        diag *d = diag_raise(p->f->diags, K1027, at, "an array of '%s' is not possible",
                             type_text(p->f->in, t));
        diag_label(d, at, "its elements would have several lengths");
        diag_label(d, type_flexible(t)->at, "the array without a length");
        return false;
    }
    if (type_size(t) % type_align(t)) { // a typedef with an alignment of its own
        diag *d = diag_raise(p->f->diags, K1040, at, "an array of '%s' is not possible",
                             type_text(p->f->in, t));
        diag_label(d, at, "an element has %llu bytes but is aligned to %u",
                   (unsigned long long)type_size(t), type_align(t));
        diag_note(d, "align the array, or put the element into a struct");
        return false;
    }
    if (t->kind != TY_VOID && t->kind != TY_FUNC && !type_is_incomplete(t))
        return true;
    if (type_is_record(t)) {
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
    if (may_vary && check_has_effects(checked)) {
        diag *d =
            diag_raise(p->f->diags, K1014, e->at, "the bound of a parameter cannot do anything");
        diag_label(d, e->at, "C would run this at every call");
        diag_note(d, "the parameter is a pointer: leave the bound out, and do this in the body");
        return false;
    }
    if (!type_is_integer(checked->type) || !const_eval(p->f, checked, &value)) {
        if (may_vary)
            return false;
        diag *d = diag_raise(p->f->diags, K1014, e->at, "the length of an array must be constant");
        diag_label(d, e->at, "this is known only when the kernel runs");
        if (!check_tell_variable(p->f, d, checked))
            diag_note(d, "use a constant, an enum, or tune(NAME, …); for a length decided at "
                         "launch use dynamic shared memory: dynamic_shared(f32, tile);");
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
    if (!is_negative)
        diag_note(d, "at the end of a struct C writes '[]' for an array of any length");
    return false;
}

// `is_param`: an array declarator next to the name becomes a pointer, and its bound may be
// anything.
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

// counted(n) before a pointer: it points to n objects.
static const char *parse_counted(parser *p, span *at)
{
    if (!is_word(p, W_COUNTED) || tok_ahead(p, 1)->kind != TOK_LPAREN)
        return NULL;
    span open = here(p);
    step(p);
    step(p);
    const char *name = tok(p)->kind == TOK_IDENT ? tok(p)->name : NULL;
    if (!name)
        parse_expected(p, "the name of a parameter that counts");
    else
        step(p);
    expect_close(p, TOK_RPAREN, open);
    *at = span_join(open, previous(p));
    return name;
}

static ast_decl *parse_param(parser *p)
{
    span counted_at = {0, 0};
    const char *counted_by = parse_counted(p, &counted_at);
    specifiers s = parse_specifiers(p, STORAGE_REGISTER);
    declarator d = {.at = here(p), .type = s.type};
    if (s.shared_at.lo) {
        diag *e = diag_raise(p->f->diags, K1110, s.shared_at, "a parameter cannot be shared");
        diag_note(e, SHARED_PARAMETER);
    }
    if (s.marks.kernel.lo)
        diag_raise(p->f->diags, K1103, s.marks.kernel, "a parameter cannot be a kernel");
    declarator_into(p, s.type, &d, true);
    parse_attributes(p, &s.align, &s.alignas_at);
    ast_decl *param = new_decl(p, DECL_PARAM, d.name, d.at, d.type);
    param->is_file_scope = false;
    param->counted_by = counted_by;
    param->counted_at = counted_at;
    param->align = s.align;
    param->is_register = s.storage == TOK_REGISTER;
    if (s.alignas_at.lo) {
        diag *e =
            diag_raise(p->f->diags, K1048, s.alignas_at, "a parameter has no alignment of its own");
        diag_label(e, s.alignas_at, "C allows _Alignas for variables and members");
    }
    if (d.type->kind == TY_FUNC)
        param->type = pointer_to(p, d.type, d.at);
    else if (d.type->kind == TY_ARRAY) // of a typedef
        param->type = pointer_to(p, d.type->base, d.at);
    else if (d.type->kind == TY_VOID) {
        diag *e = diag_raise(p->f->diags, K1047, span_join(s.at, d.at),
                             "a parameter cannot have type void");
        diag_note(e, "'(void)' alone means: no parameters");
        param->type = type_scalar(TY_POISON);
    }
    if (param->name)
        declare(p, param);
    return param;
}

// `const f32 &x` and `u32 n = 1`: C++'s parameters.
static void complain_other_param(parser *p)
{
    span at = here(p);
    bool is_default = kind(p) == TOK_ASSIGN;
    diag *d = parse_error(p, K1001, at,
                          is_default ? "C has no default arguments" : "C has no references");
    diag_label(d, at,
               is_default ? "C++: here every call gives every argument"
                          : "C++: here a parameter is a value or a pointer");
    diag_note(d, is_default ? "write the parameter without a value"
                            : "pass a small value as it is; for what is changed, or is large, "
                              "write '*' and pass the address");
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
        if (kind(p) == TOK_AMP || kind(p) == TOK_ASSIGN)
            complain_other_param(p);
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
    return next == TOK_IDENT && !starts_type(&look);
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
    skip_attributes(p);
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
    d.is_func &= d.type->kind == TY_FUNC || d.type->kind == TY_POISON; // and no pointer to one
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
    specifiers s = parse_specifiers(p, STORAGE_NONE);
    declarator d = parse_declarator(p, s.type);
    if (d.name) {
        diag *e =
            parse_error(p, K1001, d.at, "expected only a type here, found the name '%s'", d.name);
        diag_label(e, d.at, "a type in a cast or sizeof names no variable");
    }
    return d.type;
}
