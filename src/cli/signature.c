// One compile, looked at twice: the tree gives the layouts of parameters, the IR after folding is
// kept as text and read again into an arena that stays.
#include "cli/signature.h"

#include <stdlib.h>

#include "base/bug.h"
#include "compile.h"
#include "dev/device.h"

typedef struct kept_kernel {
    const char *name;
    layout *params;
    size_t param_count;
} kept_kernel;

struct signature_file {
    arena *a;
    vec(kept_kernel) kernels;
    vec(const char *) inputs;
    vec(signature_tune) tunes;
    const char *error;    // NULL: it compiles
    int64_t shared_bytes; // the constant SHARED_BYTES; 0: it has none
    str ir;
    ir_module *module;
};

enum { MOST_PARTS = 4096 }; // of a struct; a larger one is bytes

static kiln_type scalar_of(const type *t)
{
    static const uint8_t types[TY_KIND_COUNT] = {
        [TY_BOOL] = KILN_BOOL, [TY_I8] = KILN_I8,   [TY_U8] = KILN_U8,     [TY_I16] = KILN_I16,
        [TY_U16] = KILN_U16,   [TY_I32] = KILN_I32, [TY_U32] = KILN_U32,   [TY_I64] = KILN_I64,
        [TY_U64] = KILN_U64,   [TY_F16] = KILN_F16, [TY_BF16] = KILN_BF16, [TY_F8E4] = KILN_F8E4,
        [TY_F8E5] = KILN_F8E5, [TY_F32] = KILN_F32, [TY_F64] = KILN_F64,
    };
    return (kiln_type)types[t->kind];
}

static layout layout_of(arena *a, const type *t, uint32_t *parts);

static void add_members(arena *a, const type *t, uint64_t offset, layout *to, uint32_t *parts)
{
    const type *def = type_def(t);
    for (uint32_t k = 0; k < def->fields.len && *parts < MOST_PARTS; k++) {
        const field *f = &def->fields.at[k];
        if (!f->name && type_is_record(f->type)) { // its members are the outer one's
            add_members(a, f->type, offset + f->offset, to, parts);
            continue;
        }
        layout part = layout_of(a, f->type, parts);
        if (f->bits > 0) {
            part.kind = LAYOUT_BITS;
            part.size = (size_t)f->unit * f->units;
            part.bit = f->bit;
            part.bits = (uint8_t)f->bits;
        }
        part.name = f->name ? str_dup(a, str_of(f->name)) : NULL;
        part.offset = offset + f->offset;
        to->parts[to->part_count++] = part;
    }
}

static uint32_t member_count(const type *t)
{
    const type *def = type_def(t);
    uint32_t count = 0;
    for (uint32_t k = 0; k < def->fields.len; k++) {
        const field *f = &def->fields.at[k];
        count += !f->name && type_is_record(f->type) ? member_count(f->type) : 1;
    }
    return count;
}

// A vector is a record of equal scalars, or of one array of them.
static layout vector_of(arena *a, const type *t)
{
    const type *def = type_def(t), *first = def->fields.len ? def->fields.at[0].type : NULL;
    while (first && first->kind == TY_ARRAY)
        first = first->base;
    layout out = {.kind = LAYOUT_ARRAY, .size = type_size(t), .is_vector = true};
    out.parts = arena_new_of(a, layout);
    *out.parts = layout_scalar(first ? scalar_of(first) : KILN_U8);
    out.count = out.size / out.parts->size;
    return out;
}

static layout layout_of(arena *a, const type *t, uint32_t *parts)
{
    layout out = {.kind = LAYOUT_OPAQUE, .size = type_is_incomplete(t) ? 0 : type_size(t)};
    if (++*parts >= MOST_PARTS)
        return out;
    if (scalar_of(t)) {
        out.kind = LAYOUT_SCALAR;
        out.type = scalar_of(t);
    } else if (t->kind == TY_PTR) {
        out.kind = LAYOUT_SCALAR;
        out.type = KILN_U64;
    } else if (t->kind == TY_ARRAY && out.size) {
        out.kind = LAYOUT_ARRAY;
        out.parts = arena_new_of(a, layout);
        *out.parts = layout_of(a, t->base, parts);
        out.count = t->len;
    } else if (type_is_record(t) && type_def(t)->is_vector) {
        return vector_of(a, t);
    } else if (type_is_record(t) && out.size) {
        out.kind = LAYOUT_RECORD;
        out.is_union = t->kind == TY_UNION;
        out.parts = arena_array(a, layout, member_count(t) + 1);
        add_members(a, t, 0, &out, parts);
        if (*parts >= MOST_PARTS)
            out = (layout){.kind = LAYOUT_OPAQUE, .size = out.size};
    }
    return out;
}

static void keep_kernels(signature_file *s, const front *f)
{
    for (uint32_t k = 0; k < f->kernels.len; k++) {
        const ast_decl *d = f->kernels.at[k];
        kept_kernel kept = {.name = str_dup(s->a, str_of(d->name)), .param_count = d->params.len};
        kept.params = arena_array(s->a, layout, kept.param_count + 1);
        for (uint32_t n = 0; n < d->params.len; n++) {
            const type *t = d->params.at[n]->type;
            uint32_t parts = 0;
            kept.params[n] = layout_of(s->a, t->kind == TY_PTR ? t->base : t, &parts);
        }
        vec_push(s->a, &s->kernels, kept);
    }
}

static void keep_tunables(signature_file *s, const front *f)
{
    for (uint32_t k = 0; k < f->tunables.len; k++) {
        const ast_decl *d = f->tunables.at[k];
        signature_tune kept = {.name = str_dup(s->a, str_of(d->name))};
        kept.values = arena_array(s->a, int64_t, d->tune_values.len + 1);
        for (uint32_t n = 0; n < d->tune_values.len; n++) {
            bool is_new = true;
            for (size_t i = 0; i < kept.value_count; i++)
                is_new &= kept.values[i] != d->tune_values.at[n];
            if (is_new)
                kept.values[kept.value_count++] = d->tune_values.at[n];
        }
        vec_push(s->a, &s->tunes, kept);
    }
}

static void on_stage(void *user, const char *name, front *f, ir_module *m)
{
    signature_file *s = user;
    if (f && !strcmp(name, "ast")) {
        keep_kernels(s, f);
        keep_tunables(s, f);
    }
    if (strcmp(name, "cse") != 0 || s->ir.len) // the first one: before loops are unrolled
        return;
    text out = {.in = s->a};
    ir_print_module(m, &out);
    for (uint32_t n = 0; n < m->constants.len; n++)
        if (!strcmp(m->constants.at[n].name, "SHARED_BYTES"))
            s->shared_bytes = m->constants.at[n].value;
    s->ir = (str){out.at, out.len};
}

// At the end of every compile, errors or not.
static void on_end(void *user, diags *ds, source_file *file)
{
    signature_file *s = user;
    (void)file;
    for (uint32_t k = 0; k < source_count(ds->sources); k++)
        if (!source_at(ds->sources, k)->is_builtin)
            vec_push(s->a, &s->inputs, str_dup(s->a, str_of(source_at(ds->sources, k)->path)));
    for (uint32_t k = 0; k < source_absent_count(ds->sources); k++)
        vec_push(s->a, &s->inputs, str_dup(s->a, str_of(source_absent_at(ds->sources, k))));
}

static void make(signature_file *s, const kiln_compile_desc *desc, const struct target *made_for)
{
    compile_options options = {
        .path = desc->path,
        .source = desc->source,
        .source_len = desc->source_len,
        .front = {.defines = desc->define,
                  .includes = desc->include,
                  .tunes = desc->tune,
                  .target = desc->target ? device_target(desc->target) : made_for,
                  .is_for_shapes = true,
                  .allow_file_includes = true},
        .is_ir = desc->is_ir,
        .level = 2,
        .no_remarks = true,
        .stage = on_stage,
        .inspect = on_end,
        .user = s};
    compile_outcome outcome = compile_run(&options);
    if (outcome.status)
        s->error = str_format(s->a, "%s", outcome.log ? outcome.log : "out of memory");
    compile_outcome_free(&outcome);
    const char *wrong = NULL;
    if (s->ir.len)
        s->module = ir_read(s->a, names_in(s->a), s->ir, &wrong);
}

// Apart from signature_new so that the jump comes back to a function without variables of its own.
static bool make_guarded(signature_file *s, const kiln_compile_desc *desc,
                         const struct target *made_for)
{
    bug_frame frame;
    if (bug_enter(&frame))
        return false;
    make(s, desc, made_for);
    bug_leave(&frame);
    return true;
}

signature_file *signature_new(const kiln_compile_desc *desc, const struct target *made_for)
{
    signature_file *s = calloc(1, sizeof *s);
    if (s && (s->a = arena_new()) && make_guarded(s, desc, made_for))
        return s;
    signature_free(s);
    return NULL;
}

void signature_free(signature_file *s)
{
    if (s)
        arena_free(s->a);
    free(s);
}

layout signature_layout(const signature_file *s, const char *kernel, size_t param,
                        const kiln_param_info *info)
{
    for (uint32_t k = 0; s && k < s->kernels.len; k++) {
        const kept_kernel *kept = &s->kernels.at[k];
        if (!strcmp(kept->name, kernel) && param < kept->param_count &&
            kept->params[param].size == info->size)
            return kept->params[param];
    }
    if (info->type != KILN_VOID)
        return layout_scalar(info->type);
    return (layout){.kind = LAYOUT_OPAQUE, .size = info->size};
}

const ir_func *signature_func(const signature_file *s, const char *kernel)
{
    for (uint32_t k = 0; s && s->module && k < s->module->funcs.len; k++)
        if (!strcmp(s->module->funcs.at[k]->name, kernel))
            return s->module->funcs.at[k];
    return NULL;
}

arena *signature_arena(const signature_file *s)
{
    return s->a;
}

const char *signature_error(const signature_file *s)
{
    return s->error;
}

int64_t signature_shared_bytes(const signature_file *s)
{
    return s->shared_bytes;
}

size_t signature_tune_count(const signature_file *s)
{
    return s->tunes.len;
}

const signature_tune *signature_tune_at(const signature_file *s, size_t index)
{
    return &s->tunes.at[index];
}

size_t signature_input_count(const signature_file *s)
{
    return s->inputs.len;
}

const char *signature_input(const signature_file *s, size_t index)
{
    return s->inputs.at[index];
}
