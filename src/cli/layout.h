// What the bytes of a kernel argument mean: scalars, vectors, arrays and structs with their
// members, as a tree; finding a member by its path, and showing values.
#ifndef KILN_LAYOUT_H
#define KILN_LAYOUT_H

#include <stdio.h>

#include "base/str.h"
#include "kiln/kiln.h"

typedef enum layout_kind {
    LAYOUT_OPAQUE, // bytes of which nothing is known
    LAYOUT_SCALAR,
    LAYOUT_ARRAY,  // `count` times parts[0]; vectors too
    LAYOUT_RECORD, // parts are its members; those of a union overlap
    LAYOUT_BITS,   // a bit-field in `size` bytes, which neighbours may share
} layout_kind;

typedef struct layout {
    layout_kind kind;
    kiln_type type;   // SCALAR; BITS: as declared
    const char *name; // of a member, or NULL
    size_t offset;    // in the record it is a member of
    size_t size;      // of all of it
    size_t count;     // ARRAY
    bool is_vector, is_union;
    uint8_t bit, bits; // BITS: the lowest one, from the first byte; how many
    struct layout *parts;
    size_t part_count; // RECORD
} layout;

enum { LAYOUT_WHY = 256 };

layout layout_scalar(kiln_type type);
// The member that `path` names: "" is `l` itself; ".pos.x", "[2]", ".v[1].mass". *offset gets its
// byte. NULL: why says what is wrong.
const layout *layout_find(const layout *l, const char *path, size_t *offset, char why[LAYOUT_WHY]);
// True when it is nothing but `count` scalars of one type in a row.
bool layout_is_flat(const layout *l, kiln_type *type, size_t *count);
// Calls `each` for every scalar, in order; of a union for its first member; of bit-fields for their
// bytes, as u8.
void layout_each(const layout *l, size_t offset,
                 void (*each)(void *user, kiln_type type, size_t offset), void *user);
size_t layout_scalar_count(const layout *l);
// "f32x3", "struct {f32 mass; f32x3 pos}" for messages.
void layout_name(const layout *l, text *out);
// 2.5, (1 2 3) for vectors, [1 2 3] for arrays, {mass=2 pos=(1 2 3)} for structs; what is opaque in
// hexadecimal.
void layout_show(const layout *l, const void *at, text *out);
void layout_show_scalar(kiln_type type, const void *at, text *out);
// Puts the lowest bits of an integer of the declared type there. False: it does not fit.
bool layout_put_bits(const layout *l, const void *integer, void *at);
// The element's type as a .npy header has it, quotes included.
void layout_descr(const layout *l, text *out);

#endif
