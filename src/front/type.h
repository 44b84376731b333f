// C types of the kernel language. Types are immutable and live in the compile arena; compare with
// type_same. Qualifiers are part of the type object.
#ifndef KILN_TYPE_H
#define KILN_TYPE_H

#include "base/source.h"
#include "base/vec.h"
#include "ir/ir.h"

// clang-format off
typedef enum type_kind {
    TY_POISON, // after an error: agrees with everything, reports nothing
    TY_VOID, TY_BOOL,
    TY_I8, TY_U8, TY_I16, TY_U16, TY_I32, TY_U32, TY_I64, TY_U64, // C's char is i8, long and long long are i64
    TY_F16, TY_BF16, TY_F8E4, TY_F8E5, // storage only
    TY_F32, TY_F64,
    TY_TENSOR_MAP, // opaque: a kernel parameter that only the copy engine reads (check_map.c)
    TY_PTR, TY_ARRAY, TY_STRUCT, TY_UNION, TY_FUNC,
    TY_KIND_COUNT
} type_kind;
// clang-format on

enum { QUAL_CONST = 1, QUAL_VOLATILE = 2, QUAL_RESTRICT = 4 };

typedef struct type type;

typedef struct field {
    const char *name; // NULL for an anonymous struct or union
    const type *type;
    uint64_t offset; // of a bit-field: where its first unit starts
    span at;
    // Bit-fields. They lie in one unit of 1, 2, 4 or 8 bytes, or in a row of units of one byte: no
    // access touches bytes that belong to other members.
    int16_t bits;  // width; 0: no bit-field; -1: an unnamed one of width 0 (only for type_complete)
    uint8_t bit;   // of the lowest bit, from the start of the first unit
    uint8_t unit;  // bytes of a unit
    uint8_t units; // in a row
    // What its place is chosen by (only for type_complete).
    bool is_packed;       // at the next byte, a bit-field at the next bit
    uint32_t asked_align; // by an attribute or _Alignas; 0: none
} field;

struct type {
    uint8_t kind;
    uint8_t quals;
    bool is_incomplete; // struct or union declared, not defined; array of unknown bound
    bool is_enum;       // an integer type that came from an enum; `name` is the enum's tag
    bool is_broken;     // record: a member was wrong, and that was said
    bool is_vector; // f32x4 and its family: a struct of equal scalars x y z w (or e[n] above four)
    bool is_low;    // aligned to less than its kind needs: it lies in a packed record
    uint32_t align;
    uint64_t size;
    const char *name;         // tag, typedef'd vector name, or NULL
    const char *synonym;      // of a definition without a tag: its first typedef, or NULL
    const type *base;         // PTR: pointee; ARRAY: element; FUNC: result
    uint64_t len;             // ARRAY
    vec(field) fields;        // STRUCT, UNION; of the first complete definition (see type_def)
    vec(const type *) params; // FUNC
    bool is_variadic, has_no_prototype;
    const type *unqualified; // itself without qualifiers (never NULL)
    struct type *definition; // STRUCT, UNION: the shared record that holds fields, size, align
                             // (itself for the first)
    span at;
    uint16_t
        nesting; // derivations and records on the way to the deepest scalar; bounded by the parser
    arena *fields_in; // records: where `fields` grows
};

// No object is larger; the parser and type_complete refuse more.
#define TYPE_MAX_BYTES (UINT64_C(1) << 40)

// The shared types without parts: scalars, void, the tensor map.
const type *type_scalar(type_kind kind);
// From their C or Kiln spelling: "f32", "u8", "uint32_t", "size_t", "f32x4", "f16" …; NULL when
// unknown. Vector names are rows of vector.def.
const type *type_named(arena *a, name_table *names, const char *name);
const type *type_pointer(arena *a, const type *to);
const type *type_array(arena *a, const type *of, uint64_t len, bool is_incomplete);
const type *type_func(arena *a, const type *result, const type *const *params, uint32_t count,
                      bool is_variadic);
const type *type_qualified(arena *a, const type *t, unsigned quals);
type *type_record(arena *a, type_kind struct_or_union, const char *tag, span at); // incomplete
// Lays the fields out as the host's C does (System V's ABI for x86-64); false when a field is
// incomplete or the size overflows, or a bit-field lies in nine bytes. Unnamed bit-fields only take
// their place. No member is aligned to more than `pack` (#pragma pack; 0: any).
bool type_complete(type *record, const field *fields, uint32_t count, uint32_t min_align,
                   uint32_t pack);

// The array without a length at a struct's end, or NULL: it takes no room in the struct.
const field *type_flexible(const type *t);

bool type_same(const type *a, const type *b, bool ignore_quals);
// The type that two declarations of one object give it together: an array may leave its bound to
// the other one. NULL when they disagree.
const type *type_composite(const type *a, const type *b);
bool type_is_integer(const type *t); // bool included
bool type_is_signed(const type *t);
bool type_is_float(const type *t);         // f32 f64
bool type_is_storage_float(const type *t); // f16 bf16 f8e4 f8e5
bool type_is_arith(const type *t);         // integer, f32, f64
bool type_is_scalar(const type *t);        // arith or pointer
bool type_is_record(const type *t);
static inline bool is_function_pointer(const type *t)
{
    return t->kind == TY_PTR && t->base->kind == TY_FUNC;
}
static inline const type *type_def(const type *t)
{
    return t->definition ? t->definition : t;
}
const field *type_find_field(const type *record, const char *name,
                             uint64_t *offset); // looks into anonymous members
// As the user would write it: "const f32 *", "f32[4][8]". In the arena.
const char *type_text(arena *a, const type *t);
// The IR type of a scalar or pointer (pointers: ptr.gen); IR_VOID for the rest.
ir_type type_ir(const type *t);

// Through the definition for records, whose qualified copies may be older than their definition:
// use these instead of the fields of the same name.
uint64_t type_size(const type *t);
uint32_t type_align(const type *t);
bool type_is_incomplete(const type *t);
// The same type with at least that alignment (_Alignas on a member).
const type *type_aligned(arena *a, const type *t, uint32_t align);
// The same type with at most that alignment: of what lies in a packed record.
const type *type_lowered(arena *a, const type *t, uint32_t align);
// The same type with the alignment of its kind: of what lies by itself.
const type *type_natural(arena *a, const type *t);
// The type of what lies `offset` bytes behind an object of type `outer`, inside it.
const type *type_inside(arena *a, const type *outer, uint64_t offset, const type *t);
// That of a record's member, however deep, at `offset`.
const type *type_of_member(arena *a, const type *record, const field *f, uint64_t offset);
// The predefined type names, one by one; NULL past the last.
const char *type_name_at(uint32_t index);

#endif
