// Names: scopes, what may be declared twice, what is near a name that is not there.
// Invariant: a name is in one scope at most once; tags live in a space of their own, as in C.
// Start reading at declare.
#include "front/parse.h"

scope *scope_in(front *f, scope *outer)
{
    scope *s = arena_new_of(f->in, scope);
    s->outer = outer;
    s->names = map_make(f->in);
    s->tags = map_make(f->in);
    return s;
}

ast_decl *scope_find_here(const scope *s, const char *name)
{
    const uint64_t *found_at = map_find(&s->names, map_key(name));
    return found_at ? (ast_decl *)(uintptr_t)*found_at : NULL;
}

ast_decl *scope_find(const scope *s, const char *name)
{
    for (; s; s = s->outer) {
        ast_decl *d = scope_find_here(s, name);
        if (d)
            return d;
    }
    return NULL;
}

type *scope_find_tag(const scope *s, const char *tag, bool here_only)
{
    for (; s; s = here_only ? NULL : s->outer) {
        const uint64_t *found_at = map_find(&s->tags, map_key(tag));
        if (found_at)
            return (type *)(uintptr_t)*found_at;
    }
    return NULL;
}

void scope_add_tag(scope *s, const char *tag, const type *t)
{
    *map_at(&s->tags, map_key(tag)) = map_key(t);
}

ast_decl *new_decl(parser *p, decl_kind k, const char *name, span at, const type *t)
{
    ast_decl *d = arena_new_of(p->f->in, ast_decl);
    d->kind = (uint8_t)k;
    d->name = name;
    d->at = at;
    d->type = t;
    d->is_file_scope = p->scope == p->file_scope;
    d->order = ++p->common->order;
    return d;
}

static const char *kind_text(const ast_decl *d)
{
    static const char *const texts[] = {
        [DECL_VAR] = "a variable",          [DECL_PARAM] = "a parameter",
        [DECL_FUNC] = "a function",         [DECL_TYPEDEF] = "a type",
        [DECL_TUNE] = "a tunable constant", [DECL_ENUM_CONST] = "an enum constant",
    };
    return texts[d->kind];
}

// Declarations that C lets stand beside each other: extern and tentative variables at file scope, a
// typedef said again. Functions are merged in parse_decl.c.
static bool may_repeat(const ast_decl *old, const ast_decl *d)
{
    if (old->kind != d->kind)
        return false;
    if (d->kind == DECL_TYPEDEF)
        return type_same(old->type, d->type, false);
    return d->kind == DECL_VAR && d->is_file_scope && !old->is_shared && !d->is_shared &&
           type_composite(old->type, d->type);
}

static void report_conflict(parser *p, const ast_decl *old, const ast_decl *d)
{
    bool disagree = old->kind == d->kind && d->kind != DECL_PARAM && d->is_file_scope &&
                    !type_same(old->type, d->type, false);
    if (disagree) {
        diag *e =
            diag_raise(p->f->diags, K1009, d->at, "'%s' was declared with another type", d->name);
        diag_label(e, d->at, "here it has type '%s'", type_text(p->f->in, d->type));
        diag_label(e, old->at, "and here '%s'", type_text(p->f->in, old->type));
    } else {
        diag *e = diag_raise(p->f->diags, K1008, d->at, "'%s' is already declared in this scope",
                             d->name);
        diag_label(e, d->at, "declared again, as %s", kind_text(d));
        diag_label(e, old->at, "first declared here, as %s", kind_text(old));
    }
    p->insists |= old->is_kernel || old->is_shared || old->kind == DECL_TUNE;
}

// One variable declared again, at file scope: the first declaration stays and learns more.
static ast_decl *merge_variable(ast_decl *old, const ast_decl *d)
{
    const type *known = type_composite(old->type, d->type);
    old->type = known;
    old->is_extern &= d->is_extern;
    old->is_static |= d->is_static;
    old->align = d->align > old->align ? d->align : old->align;
    return old;
}

bool is_in_header(const front *f, span at)
{
    const source_file *file = source_file_at(f->sources, at.lo);
    return file && file->is_closed;
}

ast_decl *find_header_name(front *f, const char *name)
{
    const uint64_t *found_at = map_find(&parse_common_of(f)->header_names, map_key(name));
    return found_at ? (ast_decl *)(uintptr_t)*found_at : NULL;
}

// A program has a name of a C header for something of its own: the header, which other headers may
// have brought, goes on with what it declares.
static bool share_with_header(parser *p, ast_decl *old, ast_decl *d)
{
    bool is_header = is_in_header(p->f, d->at);
    if (p->scope != p->file_scope || is_header == is_in_header(p->f, old->at))
        return false;
    ast_decl *of_header = is_header ? d : old, *own = is_header ? old : d;
    *map_at(&p->common->header_names, map_key(d->name)) = map_key(of_header);
    *map_at(&p->scope->names, map_key(d->name)) = map_key(own);
    if (own->order > old->order)
        own->order = old->order;
    return true;
}

ast_decl *declare(parser *p, ast_decl *d)
{
    ast_decl *old = scope_find_here(p->scope, d->name);
    if (old && !may_repeat(old, d) && share_with_header(p, old, d)) {
        if (p->is_trial)
            vec_push(p->f->in, &p->common->tried_names, d);
        return d;
    }
    bool is_known = old && !old->is_host_only;
    if (is_known && may_repeat(old, d) && d->kind == DECL_VAR && d->type->kind != TY_POISON)
        d = merge_variable(old, d);
    else if (is_known && !may_repeat(old, d)) {
        report_conflict(p, old, d);
        d->type = d->kind == DECL_FUNC ? d->type : type_scalar(TY_POISON);
    }
    if (is_known && old->order < d->order)
        d->order = old->order; // a body between the two may use the name
    if (p->is_trial)
        vec_push(p->f->in, &p->common->tried_names, d);
    *map_at(&p->scope->names, map_key(d->name)) = map_key(d);
    return d;
}

void try_tag(parser *p, const type *t)
{
    if (p->is_trial)
        vec_push(p->f->in, &p->common->tried_tags, (type *)(uintptr_t)t);
}

void replay_host_diag(parser *p, diag *why, const char *name, span use)
{
    diags *ds = p->f->diags;
    bool is_known = false;
    for (uint32_t i = 0; i < ds->list.len; i++)
        is_known |= ds->list.at[i] == why;
    if (is_known) {
        ds->error_count += p->is_trial; // a trial fails by the count
        return;
    }
    bool is_conflict = why->code == K1008 || why->code == K1009 || why->code == K1043;
    if (!p->f->current_func && use.lo && !p->is_trial)
        diag_label(why, use, "a kernel needs '%s' here", name);
    else if (p->f->current_func && use.lo)
        diag_label(why, use, "%s '%s' uses '%s'%s",
                   p->f->current_func->is_kernel ? "kernel" : "function", p->f->current_func->name,
                   name, is_conflict ? "" : ", so its declaration must be in Kiln's C");
    ds->error_count++;
    if (ds->list.len < ds->error_limit)
        vec_push(ds->in, &ds->list, why);
}

bool replay_host_tag(parser *p, const type *t, const char *tag, span use)
{
    const uint64_t *why = map_find(&p->common->host_tags, map_key(t));
    if (why)
        replay_host_diag(p, (diag *)(uintptr_t)*why, tag, use);
    return why != NULL;
}

// --- did you mean

typedef struct nearest {
    str wanted;
    const char *best;
    unsigned distance;
} nearest;

static void consider(nearest *n, const char *candidate)
{
    str c = str_of(candidate);
    if (c.len == n->wanted.len && !memcmp(c.at, n->wanted.at, c.len))
        return;
    if (str_nearer(n->wanted, candidate, &n->distance))
        n->best = candidate;
}

static nearest nearest_to(const char *name)
{
    str wanted = str_of(name);
    unsigned limit = wanted.len < 3 ? 2 : wanted.len < 6 ? 3 : 4; // found: strictly less
    return (nearest){.wanted = wanted, .distance = limit};
}

// Names of the neighbours' types and what they are called here.
static const char *const foreign_types[][2] = {
    {"half", "f16"},
    {"__half", "f16"},
    {"_Float16", "f16"},
    {"__fp16", "f16"},
    {"bfloat16", "bf16"},
    {"__bf16", "bf16"},
    {"float2", "f32x2"},
    {"float3", "f32x3"},
    {"float4", "f32x4"},
    {"double2", "f64x2"},
    {"int2", "i32x2"},
    {"int3", "i32x3"},
    {"int4", "i32x4"},
    {"uint2", "u32x2"},
    {"uint3", "u32x3"},
    {"uint4", "u32x4"},
    {"half2", "f16x2"},
    {"__half2", "f16x2"},
    {"uint", "u32"},
    {"uchar", "u8"},
    {"ushort", "u16"},
    {"ulong", "u64"},
    {"byte", "u8"},
    {"vec2", "f32x2"},
    {"vec4", "f32x4"},
    {"uchar4", "u8x4"},
    {"char4", "i8x4"},
    {"string", "const char *"},
    {"__nv_bfloat16", "bf16"},
    {"nv_bfloat16", "bf16"},
    {"u_char", "u8"},
    {"dim3", "u32x3"},
    {"long2", "i64x2"},
    {"float64", "f64"},
    {"float32", "f32"},
    {"float16", "f16"},
    {"int64", "i64"},
    {"uint64", "u64"},
    {"uint32", "u32"},
    {"vec3", "f32x3"},
    {"ushort4", "u16x4"},
};

const char *suggest_type(parser *p, const char *name)
{
    for (size_t i = 0; i < COUNT(foreign_types); i++)
        if (!strcmp(foreign_types[i][0], name))
            return foreign_types[i][1];
    nearest n = nearest_to(name);
    static const char *const keywords[] = {"char",   "short", "int",      "long",   "float",
                                           "double", "void",  "unsigned", "struct", "kernel",
                                           "shared", "const", "static"};
    for (size_t i = 0; i < COUNT(keywords); i++)
        consider(&n, keywords[i]);
    for (uint32_t i = 0; type_name_at(i); i++)
        consider(&n, type_name_at(i));
    for (const scope *s = p->scope; s; s = s->outer)
        for (uint32_t i = 0; i < s->names.len; i++) {
            const ast_decl *d = (const ast_decl *)(uintptr_t)s->names.entries[i].value;
            if (d->kind == DECL_TYPEDEF && !d->is_host_only)
                consider(&n, d->name);
        }
    return n.best;
}
