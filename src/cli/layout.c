// The tree of a kernel argument's bytes: paths through it, and its values as text.
#include "cli/layout.h"

#include <stdlib.h>

#include "cli/npy.h"
#include "ir/eval.h"

layout layout_scalar(kiln_type type)
{
    return (layout){.kind = LAYOUT_SCALAR, .type = type, .size = kiln_type_size(type)};
}

// --- paths

#define FAIL(...) (snprintf(why, LAYOUT_WHY, __VA_ARGS__), NULL)

static const layout *find_index(const layout *l, const char **path, size_t *offset,
                                char why[LAYOUT_WHY])
{
    char *end;
    unsigned long long index = strtoull(*path + 1, &end, 0);
    if (end == *path + 1 || *end != ']' || (*path)[1] == '-')
        return FAIL("'%s' does not start with [NUMBER]", *path);
    if (l->kind != LAYOUT_ARRAY)
        return FAIL("'%s' is an index, but there is no array", *path);
    if (index >= l->count)
        return FAIL("the index %llu is out of range: there are %zu elements", index, l->count);
    *offset += (size_t)index * l->parts[0].size;
    *path = end + 1;
    return &l->parts[0];
}

static const layout *find_member(const layout *l, const char **path, size_t *offset,
                                 char why[LAYOUT_WHY])
{
    const char *name = *path + 1;
    size_t len = strcspn(name, ".[");
    *path = name + len;
    if (l->kind == LAYOUT_ARRAY && l->is_vector && len == 1) {
        const char *axes = "xyzw", *axis = strchr(axes, *name);
        if (axis && (size_t)(axis - axes) < l->count && l->count <= 4) {
            *offset += (size_t)(axis - axes) * l->parts[0].size;
            return &l->parts[0];
        }
        if (*name == 'e' && l->count > 4)
            return l;
    }
    for (size_t k = 0; l->kind == LAYOUT_RECORD && k < l->part_count; k++) {
        const layout *part = &l->parts[k];
        if (part->name && strlen(part->name) == len && !memcmp(part->name, name, len)) {
            *offset += part->offset;
            return part;
        }
    }
    char list[128] = "";
    size_t used = 0;
    for (size_t k = 0; l->kind == LAYOUT_RECORD && k < l->part_count && used < 100; k++)
        if (l->parts[k].name)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%.20s", used ? ", " : "",
                                     l->parts[k].name);
    if (!used)
        return FAIL("there is no member '%.*s'", (int)(len < 64 ? len : 64), name);
    return FAIL("there is no member '%.*s'; there are %s", (int)(len < 64 ? len : 64), name, list);
}

const layout *layout_find(const layout *l, const char *path, size_t *offset, char why[LAYOUT_WHY])
{
    *offset = 0;
    while (l && *path) {
        if (*path == '[')
            l = find_index(l, &path, offset, why);
        else if (*path == '.')
            l = find_member(l, &path, offset, why);
        else
            return FAIL("'%s' is neither .MEMBER nor [INDEX]", path);
    }
    return l;
}

// --- what is in it

bool layout_is_flat(const layout *l, kiln_type *type, size_t *count)
{
    *count = 1;
    for (; l->kind == LAYOUT_ARRAY; l = l->parts)
        *count *= l->count;
    *type = l->type;
    return l->kind == LAYOUT_SCALAR;
}

// How many bytes at the start of a member the bit-fields before it have.
static size_t bytes_shared(const layout *record, size_t index)
{
    const layout *part = &record->parts[index];
    size_t end = part->offset;
    for (size_t k = 0; k < index; k++)
        if (record->parts[k].kind == LAYOUT_BITS &&
            record->parts[k].offset + record->parts[k].size > end)
            end = record->parts[k].offset + record->parts[k].size;
    size_t shared = end - part->offset;
    return shared < part->size ? shared : part->size;
}

void layout_each(const layout *l, size_t offset,
                 void (*each)(void *user, kiln_type type, size_t offset), void *user)
{
    switch (l->kind) {
    case LAYOUT_OPAQUE: break;
    case LAYOUT_BITS:
        for (size_t k = 0; k < l->size; k++)
            each(user, KILN_U8, offset + k);
        break;
    case LAYOUT_SCALAR: each(user, l->type, offset); break;
    case LAYOUT_ARRAY:
        for (size_t k = 0; k < l->count; k++)
            layout_each(l->parts, offset + k * l->parts->size, each, user);
        break;
    case LAYOUT_RECORD:
        for (size_t k = 0; k < l->part_count && (!k || !l->is_union); k++) {
            layout part = l->parts[k];
            size_t shared = part.kind == LAYOUT_BITS ? bytes_shared(l, k) : 0;
            part.size -= shared;
            layout_each(&part, offset + part.offset + shared, each, user);
        }
        break;
    }
}

size_t layout_scalar_count(const layout *l)
{
    size_t count = 0;
    switch (l->kind) {
    case LAYOUT_OPAQUE: return 0;
    case LAYOUT_BITS: return l->size;
    case LAYOUT_SCALAR: return 1;
    case LAYOUT_ARRAY: return l->count * layout_scalar_count(l->parts);
    case LAYOUT_RECORD:
        for (size_t k = 0; k < l->part_count && (!k || !l->is_union); k++)
            count += l->parts[k].kind == LAYOUT_BITS ? l->parts[k].size - bytes_shared(l, k)
                                                     : layout_scalar_count(&l->parts[k]);
        return count;
    }
    return 0;
}

// --- as text

void layout_name(const layout *l, text *out)
{
    switch (l->kind) {
    case LAYOUT_OPAQUE: text_printf(out, "%zu bytes", l->size); break;
    case LAYOUT_SCALAR:
    case LAYOUT_BITS: text_puts(out, kiln_type_name(l->type)); break;
    case LAYOUT_ARRAY:
        layout_name(l->parts, out);
        text_printf(out, l->is_vector ? "x%zu" : "[%zu]", l->count);
        break;
    case LAYOUT_RECORD:
        text_puts(out, l->is_union ? "union {" : "struct {");
        for (size_t k = 0; k < l->part_count; k++) {
            text_puts(out, k ? "; " : "");
            layout_name(&l->parts[k], out);
            text_printf(out, " %s", l->parts[k].name ? l->parts[k].name : "");
        }
        text_putc(out, '}');
        break;
    }
}

static ir_type narrow_type(kiln_type type)
{
    return type == KILN_F16    ? IR_F16
           : type == KILN_BF16 ? IR_BF16
           : type == KILN_F8E4 ? IR_F8E4
                               : IR_F8E5;
}

void layout_show_scalar(kiln_type type, const void *at, text *to)
{
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32;
        double f64;
    } v;
    memset(&v, 0, sizeof v);
    memcpy(&v, at, kiln_type_size(type));
    switch (type) {
    case KILN_BOOL: text_puts(to, v.u8 ? "true" : "false"); break;
    case KILN_I8: text_printf(to, "%d", v.i8); break;
    case KILN_U8: text_printf(to, "%u", v.u8); break;
    case KILN_I16: text_printf(to, "%d", v.i16); break;
    case KILN_U16: text_printf(to, "%u", v.u16); break;
    case KILN_I32: text_printf(to, "%d", v.i32); break;
    case KILN_U32: text_printf(to, "%u", v.u32); break;
    case KILN_I64: text_printf(to, "%lld", (long long)v.i64); break;
    case KILN_U64: text_printf(to, "%llu", (unsigned long long)v.u64); break;
    case KILN_F32: text_printf(to, "%.9g", (double)v.f32); break;
    case KILN_F64: text_printf(to, "%.17g", v.f64); break;
    case KILN_F16:
    case KILN_BF16:
    case KILN_F8E4:
    case KILN_F8E5: text_printf(to, "%.6g", ir_widen(narrow_type(type), v.u32)); break;
    case KILN_VOID: break;
    }
}

static bool is_signed(kiln_type type)
{
    return type == KILN_I8 || type == KILN_I16 || type == KILN_I32 || type == KILN_I64;
}

// A bit-field as an integer of 64 bits.
static uint64_t bits_of(const layout *l, const unsigned char *at)
{
    uint64_t v = 0;
    for (unsigned k = 0; k < l->bits; k++) {
        unsigned from = l->bit + k;
        v |= (uint64_t)(at[from / 8] >> from % 8 & 1) << k;
    }
    if (is_signed(l->type) && l->bits < 64 && v >> (l->bits - 1) & 1)
        v |= ~UINT64_C(0) << l->bits;
    return v;
}

bool layout_put_bits(const layout *l, const void *integer, void *at)
{
    unsigned char *bytes = at;
    uint64_t wanted = 0;
    memcpy(&wanted, integer, kiln_type_size(l->type));
    unsigned unused = 64 - 8 * (unsigned)kiln_type_size(l->type);
    if (is_signed(l->type))
        wanted = (uint64_t)((int64_t)(wanted << unused) >> unused);
    for (unsigned k = 0; k < l->bits; k++) {
        unsigned to = l->bit + k;
        bytes[to / 8] = (unsigned char)((bytes[to / 8] & ~(1u << to % 8)) |
                                        (unsigned)(wanted >> k & 1) << to % 8);
    }
    return bits_of(l, bytes) == wanted;
}

void layout_show(const layout *l, const void *at, text *out)
{
    const unsigned char *bytes = at;
    switch (l->kind) {
    case LAYOUT_OPAQUE:
        for (size_t k = 0; k < l->size; k++)
            text_printf(out, "%02x", bytes[k]);
        break;
    case LAYOUT_SCALAR: layout_show_scalar(l->type, at, out); break;
    case LAYOUT_BITS: layout_show_scalar(l->type, &(uint64_t){bits_of(l, at)}, out); break;
    case LAYOUT_ARRAY:
        text_putc(out, l->is_vector ? '(' : '[');
        for (size_t k = 0; k < l->count; k++) {
            text_puts(out, k ? " " : "");
            layout_show(l->parts, bytes + k * l->parts->size, out);
        }
        text_putc(out, l->is_vector ? ')' : ']');
        break;
    case LAYOUT_RECORD:
        text_putc(out, '{');
        for (size_t k = 0; k < l->part_count; k++) {
            text_printf(out, "%s%s=", k ? " " : "", l->parts[k].name ? l->parts[k].name : "");
            layout_show(&l->parts[k], bytes + l->parts[k].offset, out);
        }
        text_putc(out, '}');
        break;
    }
}

// --- as a .npy type

static void padding(size_t bytes, text *out)
{
    if (bytes)
        text_printf(out, "('', '|V%zu'), ", bytes);
}

void layout_descr(const layout *l, text *out)
{
    if (l->kind == LAYOUT_SCALAR) {
        text_printf(out, "'%s'", npy_code(l->type));
        return;
    }
    bool is_plain = l->kind == LAYOUT_RECORD && !l->is_union;
    for (size_t k = 0; is_plain && k < l->part_count; k++)
        is_plain = l->parts[k].kind != LAYOUT_BITS;
    if (!is_plain) {
        text_printf(out, "'|V%zu'", l->size);
        return;
    }
    size_t at = 0;
    text_putc(out, '[');
    for (size_t k = 0; k < l->part_count; k++) {
        const layout *part = &l->parts[k], *inner = part;
        padding(part->offset - at, out);
        text_printf(out, "('%s', ", part->name ? part->name : "");
        while (inner->kind == LAYOUT_ARRAY)
            inner = inner->parts;
        layout_descr(inner, out);
        if (part->kind == LAYOUT_ARRAY) {
            text_puts(out, ", (");
            for (const layout *dim = part; dim->kind == LAYOUT_ARRAY; dim = dim->parts)
                text_printf(out, "%zu,", dim->count);
            text_putc(out, ')');
        }
        text_puts(out, "), ");
        at = part->offset + part->size;
    }
    padding(l->size - at, out);
    text_putc(out, ']');
}
