// Kernel builtins: the rows of builtin.def as data.
#ifndef KILN_BUILTIN_H
#define KILN_BUILTIN_H

#include "front/type.h"

typedef enum builtin_id {
    BI_NONE,
#define BUILTIN(name, signature, kind, data, flags, doc) BI_##name,
#define ALIAS(name, target, type)
#include "front/builtin.def"
#undef BUILTIN
#undef ALIAS
    BI_COUNT
} builtin_id;

typedef enum builtin_kind {
    BK_OP,    // data: the IR op; operands are the arguments in order, t is T (or the result type)
    BK_LOWER, // data: a builtin_lowering; that function of lower_builtin.c or lower_nv.c has a case
    BK_LIB,   // data: library text; the function is k_NAME_T (k_NAME without a T), called like any
              // device function
    BK_CONST, // a constant expression: consteval.c has a case
    BK_NV,    // data: the row of ir/nv.def; operands are the arguments in order
    BK_MATRIX, // data: the row of ir/nv.def; arguments are arrays of registers (check_matrix.c)
} builtin_kind;

// clang-format off
typedef enum builtin_lowering { BL_GEOMETRY, BL_WARP, BL_NUMBER, BL_WORLD, BL_ATOMIC, BL_PAIR, BL_SPECIAL, BL_NVIDIA } builtin_lowering;
// clang-format on

// The rows of one lowering as an enum, with the values of builtin_id: a switch over it has no
// default, and the compiler names the row that it lacks.
typedef enum geometry_builtin {
#define LOWER_GEOMETRY(name) GEOMETRY_BUILTIN_##name = BI_##name,
#include "front/lowered.def"
} geometry_builtin;
typedef enum warp_builtin {
#define LOWER_WARP(name) WARP_BUILTIN_##name = BI_##name,
#include "front/lowered.def"
} warp_builtin;
typedef enum number_builtin {
#define LOWER_NUMBER(name) NUMBER_BUILTIN_##name = BI_##name,
#include "front/lowered.def"
} number_builtin;
typedef enum world_builtin {
#define LOWER_WORLD(name) WORLD_BUILTIN_##name = BI_##name,
#include "front/lowered.def"
} world_builtin;
typedef enum special_builtin {
#define LOWER_SPECIAL(name) SPECIAL_BUILTIN_##name = BI_##name,
#include "front/lowered.def"
} special_builtin;
typedef enum nvidia_builtin {
#define LOWER_NVIDIA(name) NVIDIA_BUILTIN_##name = BI_##name,
#include "front/lowered.def"
} nvidia_builtin;

enum {             // flags
    BF_WARP = 1,   // every lane of the warp must take part
    BF_BLOCK = 2,  // every thread of the block must take part
    BF_FAST = 4,   // outside the promise of equal bits
    BF_EFFECT = 8, // kept even when the result is unused
};

typedef struct builtin {
    builtin_id id;
    const char *name;
    const char *signature; // "T(T,T) T:f32,f64"; see builtin.def
    builtin_kind kind;
    int op;          // BK_OP: ir_op; BK_NV, BK_MATRIX: nv_op; BK_LOWER: builtin_lowering
    const char *lib; // BK_LIB
    unsigned flags;
    const char *doc;
    const char *section;
} builtin;

// NULL when there is none. `*fixed` gets the T an alias such as sqrtf fixes, else NULL.
const builtin *builtin_find(const char *name, const type **fixed);
const builtin *builtin_at(builtin_id id);
// Every callable name in alphabetical order, aliases too; NULL past the end.
const char *builtin_name_at(uint32_t index);

#endif
