// C types: the shared scalars, derived types, record layout and how a type is written.
// Invariant: a type object never changes after it is made, but for a record, which is completed
// once, in place, through its definition; copies of a record (qualified ones) share that
// definition. Start reading at type_complete for layout and at type_text for printing.
#include "front/type.h"

#include "base/bug.h"

#define SCALAR(k, bytes)                                                                           \
    [k] = {.kind = k, .size = bytes, .align = bytes ? bytes : 1, .unqualified = &scalars[k]}

static const type scalars[TY_TENSOR_MAP + 1] = {
    SCALAR(TY_POISON, 4),
    SCALAR(TY_VOID, 0),
    SCALAR(TY_BOOL, 1),
    SCALAR(TY_I8, 1),
    SCALAR(TY_U8, 1),
    SCALAR(TY_I16, 2),
    SCALAR(TY_U16, 2),
    SCALAR(TY_I32, 4),
    SCALAR(TY_U32, 4),
    SCALAR(TY_I64, 8),
    SCALAR(TY_U64, 8),
    SCALAR(TY_F16, 2),
    SCALAR(TY_BF16, 2),
    SCALAR(TY_F8E4, 1),
    SCALAR(TY_F8E5, 1),
    SCALAR(TY_F32, 4),
    SCALAR(TY_F64, 8),
    [TY_TENSOR_MAP] = {.kind = TY_TENSOR_MAP,
                       .size = IR_TENSOR_MAP_BYTES,
                       .align = IR_TENSOR_MAP_ALIGN,
                       .unqualified = &scalars[TY_TENSOR_MAP]},
};

static const struct scalar_name {
    const char *name;
    type_kind kind;
} scalar_names[] = {
    // Kiln's own spelling of each kind comes first
    {"void", TY_VOID},     {"bool", TY_BOOL},     {"i8", TY_I8},
    {"u8", TY_U8},         {"i16", TY_I16},       {"u16", TY_U16},
    {"i32", TY_I32},       {"u32", TY_U32},       {"i64", TY_I64},
    {"u64", TY_U64},       {"f16", TY_F16},       {"bf16", TY_BF16},
    {"f8e4", TY_F8E4},     {"f8e5", TY_F8E5},     {"f32", TY_F32},
    {"f64", TY_F64},       {"int8_t", TY_I8},     {"uint8_t", TY_U8},
    {"int16_t", TY_I16},   {"uint16_t", TY_U16},  {"int32_t", TY_I32},
    {"uint32_t", TY_U32},  {"int64_t", TY_I64},   {"uint64_t", TY_U64},
    {"size_t", TY_U64},    {"ssize_t", TY_I64},   {"ptrdiff_t", TY_I64},
    {"intptr_t", TY_I64},  {"uintptr_t", TY_U64}, {"intmax_t", TY_I64},
    {"uintmax_t", TY_U64}, {"mbarrier", TY_U64},  {"tensor_map", TY_TENSOR_MAP},
};

static const struct vector_row {
    const char *name;
    type_kind element;
    uint32_t count;
} vectors[] = {
#define VECTOR(name, element, count) {#name, element, count},
#include "front/vector.def"
#undef VECTOR
};

const type *type_scalar(type_kind kind)
{
    must(kind <= TY_TENSOR_MAP);
    return &scalars[kind];
}

static type *new_type(arena *a, type_kind kind)
{
    type *t = arena_new_of(a, type);
    t->kind = (uint8_t)kind;
    t->unqualified = t;
    t->align = 1;
    return t;
}

uint64_t type_size(const type *t)
{
    return type_is_record(t) ? type_def(t)->size : t->size;
}

uint32_t type_align(const type *t)
{
    uint32_t of_record = type_def(t)->align;
    return t->is_low || t->align > of_record ? t->align : of_record;
}

bool type_is_incomplete(const type *t)
{
    return type_is_record(t) ? type_def(t)->is_incomplete : t->is_incomplete;
}

static uint16_t one_deeper(const type *t)
{
    uint16_t nesting = type_def(t)->nesting;
    return nesting == UINT16_MAX ? nesting : (uint16_t)(nesting + 1);
}

const type *type_pointer(arena *a, const type *to)
{
    type *t = new_type(a, TY_PTR);
    t->base = to;
    t->size = t->align = 8;
    t->nesting = one_deeper(to);
    return t;
}

const type *type_array(arena *a, const type *of, uint64_t len, bool is_incomplete)
{
    type *t = new_type(a, TY_ARRAY);
    t->base = of;
    t->len = is_incomplete ? 0 : len;
    t->is_incomplete = is_incomplete;
    t->align = type_align(of);
    t->is_low = of->is_low;
    t->nesting = one_deeper(of);
    uint64_t each = type_size(of);
    must(!each || t->len <= UINT64_MAX / each);
    t->size = each * t->len;
    return t;
}

const type *type_func(arena *a, const type *result, const type *const *params, uint32_t count,
                      bool is_variadic)
{
    type *t = new_type(a, TY_FUNC);
    t->base = result;
    t->nesting = one_deeper(result);
    for (uint32_t i = 0; i < count; i++) {
        vec_push(a, &t->params, params[i]);
        if (t->nesting <= type_def(params[i])->nesting)
            t->nesting = one_deeper(params[i]);
    }
    t->is_variadic = is_variadic;
    return t;
}

const type *type_qualified(arena *a, const type *t, unsigned quals)
{
    if (t->kind == TY_ARRAY) { // a qualified array is an array of qualified elements
        const type *base = type_qualified(a, t->base, quals);
        if (base == t->base)
            return t;
        type *copy = arena_copy(a, t, sizeof *t);
        copy->base = base;
        copy->unqualified = copy;
        return copy;
    }
    if ((t->quals | quals) == t->quals || t->kind == TY_POISON)
        return t;
    type *copy = arena_copy(a, t, sizeof *t);
    copy->quals = (uint8_t)(t->quals | quals);
    copy->unqualified = t->unqualified;
    return copy;
}

const type *type_aligned(arena *a, const type *t, uint32_t align)
{
    if (align <= type_align(t))
        return t;
    type *copy = arena_copy(a, t, sizeof *t);
    copy->align = align;
    return copy;
}

const type *type_lowered(arena *a, const type *t, uint32_t align)
{
    if (align >= type_align(t))
        return t;
    type *copy = arena_copy(a, t, sizeof *t);
    copy->align = align;
    copy->is_low = true;
    if (t->kind == TY_ARRAY) {
        copy->base = type_lowered(a, t->base, align);
        copy->unqualified = copy;
    }
    return copy;
}

const type *type_natural(arena *a, const type *t)
{
    if (!t->is_low)
        return t;
    if (t->kind == TY_ARRAY)
        return type_array(a, type_natural(a, t->base), t->len, t->is_incomplete);
    return type_qualified(a, t->unqualified, t->quals);
}

const type *type_inside(arena *a, const type *outer, uint64_t offset, const type *t)
{
    uint64_t align = type_align(outer), low = offset & (~offset + 1);
    return type_lowered(a, t, (uint32_t)(low && low < align ? low : align));
}

const type *type_of_member(arena *a, const type *record, const field *f, uint64_t offset)
{
    return f->bits ? type_lowered(a, f->type, type_align(record)) // a unit may lie anywhere in it
                   : type_inside(a, record, offset, f->type);
}

type *type_record(arena *a, type_kind struct_or_union, const char *tag, span at)
{
    must(struct_or_union == TY_STRUCT || struct_or_union == TY_UNION);
    type *t = new_type(a, struct_or_union);
    t->name = tag;
    t->at = at;
    t->is_incomplete = true;
    t->definition = t;
    t->fields_in = a;
    return t;
}

// --- layout

typedef struct layout {
    uint64_t bits; // taken so far
    uint64_t size; // bytes: the largest end of a member
    uint32_t align;
    uint32_t pack; // the most alignment of a member; 0: any
    bool is_union;
} layout;

// What the place of a member is a multiple of.
static uint32_t align_of_member(const layout *a, const field *f)
{
    uint32_t align = type_align(f->type);
    if (f->is_packed)
        align = f->asked_align ? f->asked_align : 1;
    return a->pack && align > a->pack ? a->pack : align;
}

// Where a bit-field starts, in bits: it does not cross a boundary of its own type, unless it is
// packed, by an attribute or any #pragma pack.
static uint64_t place_bits(layout *a, const field *f)
{
    uint64_t start = a->is_union ? 0 : a->bits, unit = 8 * type_size(f->type);
    uint64_t width = f->bits < 0 ? 0 : (uint64_t)f->bits;
    bool is_packed = f->is_packed || a->pack;
    if (!width || (!is_packed && start / unit != (start + width - 1) / unit))
        start = (start + unit - 1) / unit * unit;
    uint64_t end = start + width;
    a->bits = end;
    a->size = (end + 7) / 8 > a->size ? (end + 7) / 8 : a->size;
    uint32_t align = align_of_member(a, f);
    if (f->name && align > a->align)
        a->align = align;
    return start;
}

// Chooses the unit by which field `f`, whose first bit is `start`, is accessed: aligned in a record
// aligned to `align`. Bytes lo to hi belong to it and the bit-fields beside it.
static void choose_unit(field *f, uint64_t start, uint64_t lo, uint64_t hi, uint32_t align)
{
    uint64_t own = type_size(f->type), end = start + (uint64_t)f->bits;
    uint64_t sizes[] = {own, 1, 2, 4, 8};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        uint64_t at = start / 8 / sizes[i] * sizes[i];
        bool covers = end <= 8 * (at + sizes[i]);
        if (!covers || sizes[i] > own || sizes[i] > align || at < lo || at + sizes[i] > hi)
            continue;
        f->offset = at;
        f->bit = (uint8_t)(start - 8 * at);
        f->unit = (uint8_t)sizes[i];
        f->units = 1;
        return;
    }
    f->offset = start / 8;
    f->bit = (uint8_t)(start % 8);
    f->unit = 1;
    f->units = (uint8_t)((end + 7) / 8 - start / 8);
}

const field *type_flexible(const type *t)
{
    const type *def = type_def(t);
    const field *last = type_is_record(t) && def->fields.len ? &vec_last(&def->fields) : NULL;
    return last && last->type->kind == TY_ARRAY && last->type->is_incomplete ? last : NULL;
}

// The bytes that bit-fields may be accessed by with those beside them: from the end of the member
// before them to the start of the one behind them.
typedef struct bits_row {
    uint64_t lo, hi;
} bits_row;

static void close_row(bits_row *rows, uint32_t first, uint32_t last, uint64_t lo, uint64_t hi)
{
    for (uint32_t i = first; i < last; i++)
        rows[i] = (bits_row){lo, hi};
}

// The units of all bit-fields, whose first bits are in `offset`. False: one lies in nine bytes.
static bool choose_units(type *record, const bits_row *rows)
{
    for (uint32_t i = 0; i < record->fields.len; i++) {
        field *f = &record->fields.at[i];
        if (!f->bits)
            continue;
        choose_unit(f, f->offset, rows[i].lo, rows[i].hi, record->align);
        if (f->units > 8)
            return false;
    }
    return true;
}

bool type_complete(type *record, const field *fields, uint32_t count, uint32_t min_align,
                   uint32_t pack)
{
    layout a = {
        .align = min_align ? min_align : 1, .pack = pack, .is_union = record->kind == TY_UNION};
    bits_row *rows = arena_alloc(record->fields_in, (count + 1) * sizeof *rows);
    uint16_t nesting = 0;
    uint32_t run = 0;       // first bit-field of the row that is open
    uint64_t run_lo = 0;    // its first byte
    record->fields.len = 0; // a definition that was refused has left some
    for (uint32_t i = 0; i < count; i++) {
        field f = fields[i];
        bool is_flexible = f.type->kind == TY_ARRAY && i + 1 == count && !a.is_union;
        if (type_is_incomplete(f.type) && !is_flexible)
            return false;
        nesting = one_deeper(f.type) > nesting ? one_deeper(f.type) : nesting;
        if (f.bits > 0) {
            if (record->fields.len == run)
                run_lo = a.is_union ? 0 : a.bits / 8;
            f.offset = place_bits(&a, &f); // in bits until the record is complete
            if (f.name)
                vec_push(record->fields_in, &record->fields, f);
            continue;
        }
        uint64_t each = align_of_member(&a, &f);
        uint64_t start = a.is_union ? 0 : ((a.bits + 7) / 8 + each - 1) / each * each;
        if (!a.is_union) { // a member, or a width of 0, ends the row
            close_row(rows, run, record->fields.len, run_lo, start);
            run_lo = start;
        }
        if (f.bits < 0) {
            place_bits(&a, &f);
            run = a.is_union ? run : record->fields.len;
            continue;
        }
        f.offset = start;
        if (type_size(f.type) > TYPE_MAX_BYTES - start)
            return false;
        uint64_t end = start + type_size(f.type);
        a.bits = 8 * end;
        a.size = end > a.size ? end : a.size;
        a.align = each > a.align ? (uint32_t)each : a.align;
        vec_push(record->fields_in, &record->fields, f);
        run = a.is_union ? run : record->fields.len;
    }
    record->size = (a.size + a.align - 1) / a.align * a.align;
    record->align = a.align;
    close_row(rows, run, record->fields.len, run_lo, record->size);
    record->nesting = nesting;
    record->is_incomplete = false;
    return choose_units(record, rows);
}

static const type *make_vector(arena *a, name_table *names, const struct vector_row *row)
{
    static const char *const letters[] = {"x", "y", "z", "w"};
    const type *element = type_scalar(row->element);
    type *t = type_record(a, TY_STRUCT, name_cstr(names, row->name), (span){0, 0});
    t->is_vector = true;
    field fields[4] = {{0}};
    uint32_t count = row->count <= 4 ? row->count : 1;
    for (uint32_t i = 0; i < count; i++) {
        fields[i].name = name_cstr(names, row->count <= 4 ? letters[i] : "e");
        fields[i].type = row->count <= 4 ? element : type_array(a, element, row->count, false);
    }
    uint64_t bytes = element->size * row->count;
    uint32_t align = row->count == 3 ? element->align : bytes > 16 ? 16 : (uint32_t)bytes;
    must(type_complete(t, fields, count, align, 0));
    return t;
}

const type *type_named(arena *a, name_table *names, const char *name)
{
    if (!name[0] || !strchr("bfimustpv", name[0]))
        return NULL;
    for (size_t i = 1; i < COUNT(scalar_names); i++) // "void" is a keyword
        if (scalar_names[i].name[0] == name[0] && !strcmp(scalar_names[i].name, name))
            return type_scalar(scalar_names[i].kind);
    for (size_t i = 0; i < COUNT(vectors); i++)
        if (vectors[i].name[0] == name[0] && !strcmp(vectors[i].name, name))
            return make_vector(a, names, &vectors[i]);
    return NULL;
}

const char *type_name_at(uint32_t index)
{
    if (index < COUNT(scalar_names))
        return scalar_names[index].name;
    index -= (uint32_t)COUNT(scalar_names);
    return index < COUNT(vectors) ? vectors[index].name : NULL;
}

static bool same_func(const type *a, const type *b)
{
    if (!type_same(a->base, b->base, true))
        return false;
    if (a->has_no_prototype || b->has_no_prototype)
        return true;
    if (a->params.len != b->params.len || a->is_variadic != b->is_variadic)
        return false;
    for (uint32_t i = 0; i < a->params.len; i++)
        if (!type_same(a->params.at[i], b->params.at[i], true))
            return false;
    return true;
}

bool type_same(const type *a, const type *b, bool ignore_quals)
{
    if (a == b || a->kind == TY_POISON || b->kind == TY_POISON)
        return true;
    if (a->kind != b->kind || (!ignore_quals && (a->quals != b->quals || a->is_low != b->is_low)))
        return false;
    switch ((type_kind)a->kind) {
    case TY_PTR: return type_same(a->base, b->base, false);
    case TY_ARRAY:
        return a->is_incomplete == b->is_incomplete && a->len == b->len &&
               type_same(a->base, b->base, ignore_quals);
    case TY_STRUCT:
    case TY_UNION:
        return type_def(a) == type_def(b) || (a->is_vector && b->is_vector && a->name == b->name);
    case TY_FUNC: return same_func(a, b);
    case TY_POISON:
    case TY_VOID:
    case TY_BOOL:
    case TY_I8:
    case TY_U8:
    case TY_I16:
    case TY_U16:
    case TY_I32:
    case TY_U32:
    case TY_I64:
    case TY_U64:
    case TY_F16:
    case TY_BF16:
    case TY_F8E4:
    case TY_F8E5:
    case TY_F32:
    case TY_F64:
    case TY_TENSOR_MAP:
    case TY_KIND_COUNT: return true;
    }
    return true;
}

const type *type_composite(const type *a, const type *b)
{
    bool has_open =
        a->kind == TY_ARRAY && b->kind == TY_ARRAY && a->is_incomplete != b->is_incomplete;
    if (has_open && type_same(a->base, b->base, false))
        return a->is_incomplete ? b : a;
    return type_same(a, b, false) ? a : NULL;
}

bool type_is_integer(const type *t)
{
    return t->kind >= TY_BOOL && t->kind <= TY_U64;
}

bool type_is_signed(const type *t)
{
    return t->kind == TY_I8 || t->kind == TY_I16 || t->kind == TY_I32 || t->kind == TY_I64;
}

bool type_is_float(const type *t)
{
    return t->kind == TY_F32 || t->kind == TY_F64;
}

bool type_is_storage_float(const type *t)
{
    return t->kind >= TY_F16 && t->kind <= TY_F8E5;
}

bool type_is_arith(const type *t)
{
    return type_is_integer(t) || type_is_float(t);
}

bool type_is_scalar(const type *t)
{
    return type_is_arith(t) || t->kind == TY_PTR;
}

bool type_is_record(const type *t)
{
    return t->kind == TY_STRUCT || t->kind == TY_UNION;
}

const field *type_find_field(const type *record, const char *name, uint64_t *offset)
{
    const type *def = type_def(record);
    for (uint32_t i = 0; i < def->fields.len; i++) {
        const field *f = &def->fields.at[i];
        if (f->name == name) {
            *offset = f->offset;
            return f;
        }
        if (!f->name && type_is_record(f->type)) {
            uint64_t inner = 0;
            const field *found = type_find_field(f->type, name, &inner);
            if (found) {
                *offset = f->offset + inner;
                return found;
            }
        }
    }
    return NULL;
}

static const char *quals_text(unsigned quals)
{
    static const char *const texts[8] = {
        "",          "const ",          "volatile ",          "const volatile ",
        "restrict ", "const restrict ", "volatile restrict ", "const volatile restrict "};
    return texts[quals & 7];
}

static const char *base_text(arena *a, const type *t)
{
    if (type_is_record(t)) {
        const char *word = t->kind == TY_STRUCT ? "struct" : "union";
        if (t->is_vector)
            return t->name;
        if (!t->name && type_def(t)->synonym)
            return type_def(t)->synonym;
        return str_format(a, "%s %s", word, t->name ? t->name : "(unnamed)");
    }
    if (t->is_enum && t->name)
        return str_format(a, "enum %s", t->name);
    for (size_t i = 0; i < COUNT(scalar_names); i++)
        if (scalar_names[i].kind == t->kind)
            return scalar_names[i].name;
    return "(unknown)";
}

// `inner` is the declarator built so far, from the outside of the type inwards.
static const char *text_around(arena *a, const type *t, const char *inner)
{
    if (t->kind == TY_PTR) {
        const char *star = str_format(a, "*%s%s", quals_text(t->quals), inner);
        if (t->base->kind == TY_ARRAY || t->base->kind == TY_FUNC)
            star = str_format(a, "(%s)", star);
        return text_around(a, t->base, star);
    }
    if (t->kind == TY_ARRAY) {
        const char *bound =
            t->is_incomplete ? "" : str_format(a, "%llu", (unsigned long long)t->len);
        return text_around(a, t->base, str_format(a, "%s[%s]", inner, bound));
    }
    if (t->kind == TY_FUNC) {
        text params = {.in = a};
        for (uint32_t i = 0; i < t->params.len; i++)
            text_printf(&params, "%s%s", i ? ", " : "", type_text(a, t->params.at[i]));
        if (t->is_variadic)
            text_puts(&params, ", ...");
        const char *list = params.len ? params.at : "void";
        return text_around(a, t->base, str_format(a, "%s(%s)", inner, list));
    }
    const char *gap = inner[0] == '*' || (inner[0] == '(' && inner[1] == '*') ? " " : "";
    return str_format(a, "%s%s%s%s", quals_text(t->quals), base_text(a, t), gap, inner);
}

const char *type_text(arena *a, const type *t)
{
    char *all = str_dup(a, str_of(text_around(a, t, "")));
    size_t len = strlen(all);
    while (len && all[len - 1] == ' ') // "f32 *const "
        all[--len] = 0;
    return all;
}

ir_type type_ir(const type *t)
{
    if (is_function_pointer(t))
        return IR_I64;
    static const uint8_t table[TY_KIND_COUNT] = {
        [TY_BOOL] = IR_I1,   [TY_I8] = IR_I8,   [TY_U8] = IR_I8,     [TY_I16] = IR_I16,
        [TY_U16] = IR_I16,   [TY_I32] = IR_I32, [TY_U32] = IR_I32,   [TY_I64] = IR_I64,
        [TY_U64] = IR_I64,   [TY_F16] = IR_F16, [TY_BF16] = IR_BF16, [TY_F8E4] = IR_F8E4,
        [TY_F8E5] = IR_F8E5, [TY_F32] = IR_F32, [TY_F64] = IR_F64,   [TY_PTR] = IR_PTR_GEN,
    };
    return (ir_type)table[t->kind];
}
