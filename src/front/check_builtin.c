// Calls of builtins: reads the row's signature, finds its T from the arguments, converts them.
// T comes from a pointer's pointee when there is one; else the arguments' own type if the row lists
// it, else their usual arithmetic type. Integer constants never decide when something else can.
// Start reading at check_builtin_args.
#include "front/check.h"

enum { MAX_ARGS = 10, MAX_CHOICES = 16 };

typedef enum slot_kind { SLOT_TYPE, SLOT_T, SLOT_E, SLOT_T_PTR, SLOT_CONST_T_PTR } slot_kind;

typedef struct slot {
    slot_kind kind;
    const type *type; // SLOT_TYPE
    bool is_constant; // must be known when compiling
} slot;

typedef struct signature {
    slot result;
    slot args[MAX_ARGS];
    uint32_t arg_count;
    bool has_t, takes_any; // T:any
    const type *choices[MAX_CHOICES];
    uint32_t choice_count;
} signature;

// --- reading the row

static const struct {
    const char *name;
    type_kind kind;
} scalars[] = {
    {"void", TY_VOID}, {"bool", TY_BOOL}, {"i8", TY_I8},   {"u8", TY_U8},
    {"i16", TY_I16},   {"u16", TY_U16},   {"i32", TY_I32}, {"u32", TY_U32},
    {"i64", TY_I64},   {"u64", TY_U64},   {"f16", TY_F16}, {"bf16", TY_BF16},
    {"f8e4", TY_F8E4}, {"f8e5", TY_F8E5}, {"f32", TY_F32}, {"f64", TY_F64},
};

static const type *row_type(front *f, const char *at, size_t len)
{
    for (size_t i = 0; i < COUNT(scalars); i++)
        if (strlen(scalars[i].name) == len && !memcmp(scalars[i].name, at, len))
            return type_scalar(scalars[i].kind);
    const type *t = type_named(f->in, f->names, name_of(f->names, at, len));
    if (!t)
        bug("builtin.def names the unknown type '%.*s'", (int)len, at);
    return t;
}

static size_t word_len(const char *at)
{
    return strcspn(at, "(),");
}

static slot read_slot(front *f, const char *at, size_t len)
{
    if (len == 1 && *at == 'T')
        return (slot){.kind = SLOT_T};
    if (len == 1 && *at == 'E')
        return (slot){.kind = SLOT_E};
    if (len == 2 && !memcmp(at, "T*", 2))
        return (slot){.kind = SLOT_T_PTR};
    if (len == 8 && !memcmp(at, "const T*", 8))
        return (slot){.kind = SLOT_CONST_T_PTR};
    bool is_const = len > 6 && !memcmp(at, "const ", 6), is_pointer = at[len - 1] == '*';
    at += is_const ? 6 : 0;
    len -= (is_const ? 6u : 0u) + (is_pointer ? 1u : 0u);
    const type *t = row_type(f, at, len);
    if (is_pointer)
        t = type_pointer(f->in, is_const ? type_qualified(f->in, t, QUAL_CONST) : t);
    return (slot){.kind = SLOT_TYPE, .type = t, .is_constant = is_const && !is_pointer};
}

static void read_signature(front *f, const char *at, signature *s)
{
    *s = (signature){0};
    size_t len = word_len(at);
    s->result = read_slot(f, at, len);
    at += len + 1;
    while (*at != ')') {
        len = word_len(at);
        must(s->arg_count < MAX_ARGS);
        s->args[s->arg_count++] = read_slot(f, at, len);
        at += len;
        if (*at == ',')
            at++;
    }
    at++;
    if (!*at)
        return;
    at += 3; // " T:"
    s->has_t = true;
    s->takes_any = !strcmp(at, "any");
    while (*at && !s->takes_any) {
        len = word_len(at);
        must(s->choice_count < MAX_CHOICES);
        s->choices[s->choice_count++] = row_type(f, at, len);
        at += len;
        if (*at == ',')
            at++;
    }
}

// --- finding T

static const type *find_choice(const signature *s, const type *t)
{
    for (uint32_t i = 0; i < s->choice_count; i++)
        if (type_is_record(t) ? type_same(s->choices[i], t, true) : s->choices[i]->kind == t->kind)
            return s->choices[i];
    return NULL;
}

static const char *choices_text(front *f, const signature *s)
{
    text out = {.in = f->in};
    for (uint32_t i = 0; i < s->choice_count; i++)
        text_printf(&out, "%s%s",
                    !i                         ? ""
                    : i + 1 == s->choice_count ? " or "
                                               : ", ",
                    T_OF(f, s->choices[i]));
    return out.at;
}

static diag *no_choice(front *f, const ast_expr *e, const builtin *b, const signature *s,
                       const ast_expr *arg)
{
    diag *d = diag_raise(f->diags, K2028, arg->at, "'%s' does not take '%s'", b->name,
                         T_OF(f, arg->type->unqualified));
    diag_label(d, arg->at, "expected %s, found '%s'", choices_text(f, s),
               T_OF(f, arg->type->unqualified));
    if (type_is_storage_float(arg->type) && find_choice(s, type_scalar(TY_F32)))
        check_fix_around(f, d, arg, "widen it", "f32(", ")");
    else if (type_is_integer(arg->type) && s->choices[0]->kind == TY_F32)
        check_fix_around(f, d, arg, "convert explicitly", "(f32)", "");
    (void)e;
    return d;
}

static const type *t_from_pointer(front *f, ast_expr *e, const builtin *b, const signature *s,
                                  uint32_t index)
{
    ast_expr *arg = e->args.at[index];
    if (!is_pointer(arg->type)) {
        diag *d = diag_raise(f->diags, K2028, arg->at, "argument %u of '%s' is a pointer",
                             index + 1, b->name);
        diag_label(d, arg->at, "this is '%s'", T_OF(f, arg->type));
        const ast_expr *place = arg;
        if (place->kind == E_CONVERT && place->convert == CONVERT_LOAD)
            check_fix_around(f, d, arg, "pass its address", "&", "");
        return NULL;
    }
    const type *t = arg->type->base;
    if (t->kind == TY_POISON)
        return NULL;
    if (s->args[index].kind == SLOT_T_PTR && (t->quals & QUAL_CONST)) {
        diag *d =
            diag_raise(f->diags, K2050, arg->at, "'%s' writes through a pointer to const", b->name);
        diag_label(d, arg->at, "this is '%s'", T_OF(f, arg->type));
        const ast_expr *leaf = arg;
        while (leaf && leaf->kind != E_NAME)
            leaf = leaf->a;
        if (leaf && leaf->decl)
            diag_label(d, leaf->decl->at, "declared here");
        return NULL;
    }
    if (t->is_low) {
        diag *d = diag_raise(f->diags, K2010, arg->at, "this points into a packed struct");
        diag_label(d, arg->at, "'%s' needs a pointer to what is aligned", b->name);
        diag_note(d, "copy the member to a variable");
        return NULL;
    }
    const type *found = s->takes_any ? t->unqualified : find_choice(s, t);
    bool is_object = t->kind != TY_VOID && t->kind != TY_FUNC && t->kind != TY_TENSOR_MAP &&
                     !type_def(t)->is_incomplete;
    if (found && is_object)
        return found;
    diag *d = diag_raise(f->diags, K2028, arg->at, "'%s' does not take '%s'", b->name,
                         T_OF(f, arg->type));
    diag_label(d, arg->at, "expected a pointer to %s",
               s->takes_any ? "an object" : choices_text(f, s));
    return NULL;
}

static bool is_adaptable(const ast_expr *e)
{
    return e->is_const && type_is_integer(e->type);
}

// The listed type that `t` becomes without a cast: itself, promoted, or with the other sign.
static const type *listed_type(const signature *s, const type *t)
{
    const type *found = find_choice(s, t);
    if (found || !type_is_arith(t))
        return found;
    const type *promoted = check_promoted_type(t);
    found = find_choice(s, promoted);
    if (!found && promoted->kind == TY_I32)
        found = find_choice(s, type_scalar(TY_U32));
    if (!found && promoted->kind == TY_I64)
        found = find_choice(s, type_scalar(TY_U64));
    return found;
}

static const type *t_from_values(front *f, ast_expr *e, const builtin *b, const signature *s)
{
    const type *common = NULL;
    const ast_expr *decider = NULL;
    for (int round = 0; round < 2 && !common; round++) // constants only when nothing else is there
        for (uint32_t i = 0; i < s->arg_count; i++) {
            const ast_expr *arg = e->args.at[i];
            if (s->args[i].kind != SLOT_T || (round == 0 && is_adaptable(arg)))
                continue;
            const type *t = arg->type->unqualified;
            if (!common) {
                common = t;
                decider = arg;
            } else if (type_same(common, t, true)) {
                continue;
            } else if (type_is_arith(common) && type_is_arith(t)) {
                common = check_usual_type(common, t);
                decider = arg;
            } else if (!type_is_arith(t) && type_is_arith(common)) {
                decider = arg;
                common = t;
            }
        }
    if (!decider)
        return NULL;
    const type *found = listed_type(s, common);
    bool is_number = is_adaptable(decider) || (f->lax_conversions && type_is_integer(common));
    if (!found && is_number && find_choice(s, type_scalar(TY_F64)))
        found = type_scalar(TY_F64); // sqrt(2), as in C
    if (!found)
        no_choice(f, e, b, s, decider);
    return found;
}

static const type *deduce(front *f, ast_expr *e, const builtin *b, const signature *s)
{
    for (uint32_t i = 0; i < s->arg_count; i++)
        if (s->args[i].kind == SLOT_T_PTR || s->args[i].kind == SLOT_CONST_T_PTR)
            return t_from_pointer(f, e, b, s, i);
    return t_from_values(f, e, b, s);
}

// --- arguments with rules of their own

// Which argument must be a constant, and which values it may have.
static const struct {
    builtin_id id;
    uint8_t arg;
    const char *rule;
} constant_args[] = {
    {BI_shuffle_in, 2, "1, 2, 4, 8, 16 or 32"},
    {BI_shuffle_up_in, 2, "1, 2, 4, 8, 16 or 32"},
    {BI_shuffle_down_in, 2, "1, 2, 4, 8, 16 or 32"},
    {BI_shuffle_xor_in, 2, "1, 2, 4, 8, 16 or 32"},
    {BI_atomic_add_at, 2, "an order_…"},
    {BI_atomic_add_at, 3, "a scope_…"},
    {BI_atomic_swap_at, 2, "an order_…"},
    {BI_atomic_swap_at, 3, "a scope_…"},
    {BI_atomic_cas_at, 3, "an order_…"},
    {BI_atomic_cas_at, 4, "a scope_…"},
    {BI_atomic_load_at, 1, "an order_…"},
    {BI_atomic_load_at, 2, "a scope_…"},
    {BI_atomic_store_at, 2, "an order_…"},
    {BI_atomic_store_at, 3, "a scope_…"},
    {BI_fence_at, 0, "an order_…"},
    {BI_fence_at, 1, "a scope_…"},
};

static bool constant_is_allowed(const char *rule, uint64_t v)
{
    if (rule[0] == '1')
        return v && v <= 32 && !(v & (v - 1));
    return rule[1] == 'n' ? v <= 4 : v <= 3;
}

static void check_constant_args(front *f, ast_expr *e, const builtin *b)
{
    for (size_t i = 0; i < COUNT(constant_args); i++) {
        if (constant_args[i].id != b->id)
            continue;
        ast_expr **slot_at = &e->args.at[constant_args[i].arg];
        const_value v;
        if (is_poison(*slot_at))
            continue;
        if ((*slot_at)->is_const && const_eval(f, *slot_at, &v) &&
            constant_is_allowed(constant_args[i].rule, v.integer)) {
            *slot_at = check_int(f, (*slot_at)->at, type_scalar(TY_U32), v.integer);
            continue;
        }
        bool is_width = constant_args[i].rule[0] == '1';
        if (is_width && !(*slot_at)->is_const) // costs a few instructions more
            continue;
        diag *d = diag_raise(f->diags, K2051, (*slot_at)->at,
                             "argument %d of '%s' must be the constant %s",
                             constant_args[i].arg + 1, b->name, constant_args[i].rule);
        diag_label(d, (*slot_at)->at,
                   (*slot_at)->is_const ? "this is another value" : "not known when compiling");
    }
}

bool check_constant_arg(front *f, ast_expr *e, uint32_t index, const builtin *b)
{
    ast_expr **slot_at = &e->args.at[index];
    const_value v;
    if ((*slot_at)->is_const && const_eval(f, *slot_at, &v)) {
        *slot_at = check_int(f, (*slot_at)->at, type_scalar(TY_U32), v.integer);
        return true;
    }
    diag *d = diag_raise(f->diags, K2051, (*slot_at)->at, "argument %u of '%s' must be a constant",
                         index + 1, b->name);
    diag_label(d, (*slot_at)->at, "not known when compiling");
    return false;
}

static const type *element_of(const type *vector)
{
    return type_def(vector)->fields.at[0].type;
}

bool check_builtin_args(front *f, ast_expr *e, const builtin *b, const type *fixed)
{
    signature s;
    read_signature(f, b->signature, &s);
    if (e->args.len != s.arg_count) {
        span at = e->args.len > s.arg_count ? e->args.at[s.arg_count]->at : e->a->at;
        diag *d = diag_raise(f->diags, K2027, at, "'%s' takes %u argument%s, not %u", b->name,
                             s.arg_count, s.arg_count == 1 ? "" : "s", e->args.len);
        diag_label(d, at, "%s", e->args.len > s.arg_count ? "the first one too many" : b->doc);
        return false;
    }
    for (uint32_t i = 0; i < e->args.len; i++)
        if (is_poison(e->args.at[i]))
            return false;
    const type *t = NULL;
    if (s.has_t) {
        t = fixed ? fixed : deduce(f, e, b, &s);
        if (!t)
            return false;
    }
    e->builtin_type = t;
    bool has_first_pointer = fixed != NULL;
    for (uint32_t i = 0; i < s.arg_count; i++) {
        ast_expr *arg = e->args.at[i];
        const type *to = s.args[i].type;
        if (s.args[i].kind == SLOT_T_PTR || s.args[i].kind == SLOT_CONST_T_PTR) {
            if (!has_first_pointer) // deduce() has looked at the first
                has_first_pointer = true;
            else if (!t_from_pointer(f, e, b, &s, i))
                return false;
            continue;
        }
        if (s.args[i].kind == SLOT_T || s.args[i].kind == SLOT_E)
            to = s.args[i].kind == SLOT_T ? t : element_of(t);
        e->args.at[i] =
            check_convert(f, arg, to, str_format(f->in, "argument %u of '%s'", i + 1, e->a->name));
        if (is_poison(e->args.at[i]))
            return false;
    }
    check_constant_args(f, e, b);
    for (uint32_t i = 0; i < s.arg_count; i++)
        if (s.args[i].is_constant && !check_constant_arg(f, e, i, b))
            return false;
    e->type = s.result.kind == SLOT_T       ? t
              : s.result.kind == SLOT_E     ? element_of(t)
              : s.result.kind == SLOT_T_PTR ? type_pointer(f->in, t)
                                            : s.result.type;
    return true;
}
