// Structs, unions and vectors among kernel parameters, as C types for the host: members in the same
// places, checked by the host's compiler. What C cannot say in the same words (bit-fields, members
// without a name) becomes bytes of the same size and alignment.
#include "cli/header.h"

static const char *scalar_name(const type *t)
{
    static const char *const names[TY_KIND_COUNT] = {
        [TY_BOOL] = "bool",    [TY_I8] = "int8_t",    [TY_U8] = "uint8_t",    [TY_I16] = "int16_t",
        [TY_U16] = "uint16_t", [TY_I32] = "int32_t",  [TY_U32] = "uint32_t",  [TY_I64] = "int64_t",
        [TY_U64] = "uint64_t", [TY_F16] = "uint16_t", [TY_BF16] = "uint16_t", [TY_F8E4] = "uint8_t",
        [TY_F8E5] = "uint8_t", [TY_F32] = "float",    [TY_F64] = "double",    [TY_PTR] = "uint64_t",
    };
    return names[t->kind];
}

static const type *element_of(const type *t)
{
    while (t->kind == TY_ARRAY)
        t = t->base;
    return t;
}

// "[3][4]"
static const char *bounds_of(header_types *h, const type *t)
{
    const char *bounds = "";
    for (; t->kind == TY_ARRAY; t = t->base)
        bounds = str_format(h->in, "%s[%llu]", bounds, (unsigned long long)t->len);
    return bounds;
}

// Without an _Alignas of the member itself.
static uint32_t natural_align(const type *element)
{
    return type_is_record(element) ? type_def(element)->align : (uint32_t)element->size;
}

static bool has_plain_member(const field *f, uint64_t end, bool is_union)
{
    const type *element = element_of(f->type);
    for (const type *t = f->type; t->kind == TY_ARRAY; t = t->base)
        if (t->is_incomplete || !t->len)
            return false;
    bool is_known =
        type_is_record(element) ? !type_def(element)->is_incomplete : scalar_name(element) != NULL;
    return f->name && !f->bits && is_known && (is_union ? f->offset == 0 : f->offset >= end);
}

// True when every member can be written as a C member of its own.
static bool is_plain(const type *def)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < def->fields.len; i++) {
        const field *f = &def->fields.at[i];
        if (!has_plain_member(f, end, def->kind == TY_UNION))
            return false;
        end = f->offset + type_size(f->type);
    }
    return def->fields.len > 0;
}

// The #pragma pack that gives the struct its layout; 0: none is needed.
enum { NO_PACK = 256 }; // … there is none
static uint32_t pack_of(const type *def)
{
    bool is_packed = false;
    uint32_t most = 1;
    for (uint32_t i = 0; i < def->fields.len; i++) {
        uint32_t align = type_align(def->fields.at[i].type);
        is_packed |= align > def->align || def->fields.at[i].offset % align;
    }
    for (uint32_t i = 0; is_packed && i < def->fields.len; i++) {
        uint32_t align = type_align(def->fields.at[i].type);
        align = align > def->align ? def->align : align;
        most = align > most ? align : most;
        if (def->fields.at[i].offset % align)
            return NO_PACK;
    }
    return !is_packed ? 0 : most < def->align ? NO_PACK : def->align;
}

// A name of its own for the type: its tag, the typedef of a struct without one, or `otherwise`.
static const char *pick_name(header_types *h, const front *f, const type *def,
                             const char *otherwise)
{
    const char *name = def->name;
    const ast_decl *first = NULL;
    for (uint32_t i = 0; !name && !first && i < f->file_scope->names.len; i++) {
        const ast_decl *d = (const ast_decl *)(uintptr_t)f->file_scope->names.entries[i].value;
        if (d && d->kind == DECL_TYPEDEF && type_is_record(d->type) && type_def(d->type) == def)
            first = d;
    }
    if (!name)
        name = first ? first->name : otherwise;
    name = str_format(h->in, "%s_%s", h->prefix, name);
    name = header_safe_name(h->in, name, h->taken.at, h->taken.len);
    vec_push(h->in, &h->taken, name);
    return name;
}

// Of the n-th member: its own, unless that is a word of C++ or of this header.
static const char *member_name(header_types *h, const type *def, uint32_t n)
{
    vec(const char *) before = {0};
    for (uint32_t i = 0;; i++) {
        const char *name = header_safe_name(h->in, def->fields.at[i].name, before.at, before.len);
        if (i == n)
            return name;
        vec_push(h->in, &before, name);
    }
}

static const char *record_name(header_types *h, const front *f, const type *t,
                               const char *otherwise);

static void add_members(header_types *h, const front *f, const type *def, const char *name,
                        uint32_t pack, text *out)
{
    uint64_t end = 0;
    uint32_t most = 1;
    for (uint32_t i = 0; i < def->fields.len; i++) {
        uint32_t align = type_align(def->fields.at[i].type);
        most = align > most ? align : most;
    }
    for (uint32_t i = 0; i < def->fields.len; i++) {
        const field *member = &def->fields.at[i];
        const type *element = element_of(member->type);
        uint32_t align = type_align(member->type);
        align = pack && align > pack ? pack : align;
        uint64_t place = (end + align - 1) / align * align;
        const char *called = member_name(h, def, i);
        if (def->kind != TY_UNION && member->offset > place)
            text_printf(out, "    uint8_t kiln_gap_%u[%llu];\n", i,
                        (unsigned long long)(member->offset - end));
        if (!i && def->align > most)
            align = def->align;
        text_puts(out, "    ");
        if (align > natural_align(element))
            text_printf(out, "KILN_ALIGN(%u) ", align);
        const char *inner = str_format(h->in, "%s_%s", name + strlen(h->prefix) + 1, called);
        text_printf(out, "%s %s%s;%s\n",
                    type_is_record(element) ? record_name(h, f, element, inner)
                                            : scalar_name(element),
                    called, bounds_of(h, member->type),
                    element->kind == TY_PTR ? " // an address on the device" : "");
        end = member->offset + type_size(member->type);
    }
}

// The C name of a record; adds its definition, after those of its members.
static const char *record_name(header_types *h, const front *f, const type *t,
                               const char *otherwise)
{
    const type *def = type_def(t);
    for (uint32_t i = 0; i < h->records.len; i++)
        if (h->records.at[i].definition == def)
            return h->records.at[i].name;
    const char *name = pick_name(h, f, def, otherwise);
    text body = {.in = h->in};
    const char *word = def->kind == TY_UNION ? "union" : "struct";
    uint32_t pack = pack_of(def);
    bool has_members = is_plain(def) && pack != NO_PACK;
    if (has_members) {
        if (pack)
            text_printf(&body, "#pragma pack(push, %u)\n", pack);
        text_printf(&body, "typedef %s %s {\n", word, name);
        add_members(h, f, def, name, pack, &body);
    } else {
        text_printf(&body, "typedef struct %s {\n    KILN_ALIGN(%u) uint8_t bytes[%llu];\n", name,
                    def->align, (unsigned long long)def->size);
    }
    text_printf(&body, "} %s;\n%s", name, has_members && pack ? "#pragma pack(pop)\n" : "");
    text_add(&h->structs, body.at, body.len);
    text_printf(&h->buffers,
                "KILN_STATIC_ASSERT(sizeof(%s) == %llu, \"its kernels have another size\");\n",
                name, (unsigned long long)def->size);
    bool has_places = has_members && !def->is_vector;
    for (uint32_t i = 0; has_places && i < def->fields.len; i++)
        if (def->fields.at[i].offset)
            text_printf(&h->buffers,
                        "KILN_STATIC_ASSERT(offsetof(%s, %s) == %llu, \"its kernels have it "
                        "elsewhere\");\n",
                        name, member_name(h, def, i), (unsigned long long)def->fields.at[i].offset);
    vec_push(h->in, &h->records, (header_record){.definition = def, .name = name});
    return name;
}

static const char *buffer_name(header_types *h, const char *name)
{
    header_record *r = h->records.at;
    while (strcmp(r->name, name) != 0)
        r++;
    if (r->buffer)
        return r->buffer;
    r->buffer =
        header_safe_name(h->in, str_format(h->in, "%s_buffer", name), h->taken.at, h->taken.len);
    vec_push(h->in, &h->taken, r->buffer);
    text_printf(&h->buffers, "KILN_STRUCT_BUFFER(%s, %s)\n", r->buffer, name);
    return r->buffer;
}

// What the header itself defines.
static void collect_names(header_types *h, const front *f)
{
    static const char *const own[] = {"kernels", "source", "load", "unload", "cpu"};
    for (size_t i = 0; i < COUNT(own); i++)
        vec_push(h->in, &h->taken, str_format(h->in, "%s_%s", h->prefix, own[i]));
    for (uint32_t i = 0; i < f->kernels.len; i++) {
        const char *kernel = f->kernels.at[i]->name;
        vec_push(h->in, &h->taken, str_format(h->in, "launch_%s", kernel));
        vec_push(h->in, &h->taken, str_format(h->in, "%s_launch_%s", h->prefix, kernel));
    }
}

void header_types_add(header_types *h, const front *f)
{
    collect_names(h, f);
    for (uint32_t k = 0; k < f->kernels.len; k++) {
        const ast_decl *kernel = f->kernels.at[k];
        for (uint32_t n = 0; n < kernel->params.len; n++) {
            const ast_decl *param = kernel->params.at[n];
            bool is_pointer = param->type->kind == TY_PTR;
            const type *t = is_pointer ? param->type->base : param->type;
            if (!type_is_record(t) || type_def(t)->is_incomplete || !type_size(t))
                continue;
            header_param p = {.kernel = str_dup(h->in, str_of(kernel->name)), .index = n};
            const char *param_name = param->name ? param->name : "argument";
            p.type = record_name(h, f, t, str_format(h->in, "%s_%s", kernel->name, param_name));
            if (is_pointer)
                p.buffer = buffer_name(h, p.type);
            vec_push(h->in, &h->params, p);
        }
    }
}

const header_param *header_types_find(const header_types *h, const char *kernel, size_t index)
{
    for (uint32_t i = 0; i < h->params.len; i++)
        if (h->params.at[i].index == index && !strcmp(h->params.at[i].kernel, kernel))
            return &h->params.at[i];
    return NULL;
}
