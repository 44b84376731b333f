// What the ops share on the host: the kernels they are made of, compiled when first needed and kept
// with the context.
//
// An op's kernels are texts built into the library ("ops/matmul/gemm_sm90.c"). A kernel has
// variants: each axis (a macro or a tunable) has a value. The axes of an op are rows of its
// axes.def; a variant is a number for each axis. A context finds its kernels by a hash of those
// numbers, so a warm call formats no text and allocates nothing.
#ifndef KILN_OP_H
#define KILN_OP_H

#include "rt/rt.h"

enum { OP_AXES = 56 };

// --- axes: rows AXIS(id, name, kind, domain) of ops/NAME/axes.def
typedef enum op_axis_kind {
    OP_FLAG,   // the macro `name` is defined or not
    OP_WORD,   // the macro name_WORD is defined; the word "": none
    OP_TYPE,   // the macro name_TYPE is defined; the value is a kiln_type
    OP_VALUE,  // the macro `name` is defined as the value; 0: not defined
    OP_NUMBER, // the macro `name` is defined as the value
    OP_TEXT,   // the macro `name` is defined as one of the texts; the text "": not defined
    OP_TUNE,   // the tunable `name` has the value
    OP_KEY,    // no word of its own: the program's `write` looks at it
} op_axis_kind;

typedef struct op_axis {
    const char *name;
    op_axis_kind kind;
    const char *const *words; // of OP_WORD and OP_TEXT, by value
    const uint32_t *values;   // all that are possible; NULL: least to most
    uint32_t count, least, most;
} op_axis;

// Domains of axes, for designated initialisers of an op_axis.
// clang-format off
#define OP_YES_NO         .most = 1
#define OP_ANY_TYPE       .most = KILN_F64
#define OP_RANGE(lo, hi)  .least = (lo), .most = (hi)
#define OP_ONE_OF(...)    .values = (const uint32_t[]){__VA_ARGS__}, .count = sizeof(uint32_t[]){__VA_ARGS__} / sizeof(uint32_t)
#define OP_WORDS(...)     .words = (const char *const[]){__VA_ARGS__}, .most = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *) - 1
// The names of the types by kiln_type: an axis OP_TEXT whose value is a kiln_type.
#define OP_TYPE_TEXTS     OP_WORDS("", "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f8e4", "f8e5", "f32", "f64")
// clang-format on

// --- variants
typedef struct op_request op_request;
typedef struct op_words op_words;

typedef struct op_program { // a kernel and the axes of its variants; compared by address
    const char *file;       // "ops/matmul/gemm_sm90.c"
    const char *kernel;     // its name; NULL: the only one
    const op_axis *axes;
    uint32_t axis_count; // at most OP_AXES
    // Adds the macros that take more than one axis to write, with op_word; NULL: none.
    void (*write)(const op_request *r, op_words *words);
} op_program;
// A program whose axes are the table `axes`.
#define OP_PROGRAM(path, name)                                                                     \
    {                                                                                              \
        .file = (path), .kernel = (name), .axes = axes, .axis_count = COUNT(axes)                  \
    }

struct op_request {
    const op_program *program;
    uint64_t given; // bit n: axis n has a value
    uint32_t values[OP_AXES];
    size_t shared_bytes; // dynamic, at least; a kernel may ask for more: op_kernel.shared_bytes
    const void *context; // for the program's `write`; says nothing that the axes do not
};

typedef struct op_kernel {
    kiln_kernel *kernel;
    size_t shared_bytes; // dynamic: the request's, or the kernel's SHARED_BYTES if that is more
    bool overlaps;       // it has KERNEL_OVERLAPS (kiln/pack.h): .overlaps_previous of its launches
    uint32_t resident;   // blocks that run at the same time on the whole device, in whole clusters
} op_kernel;

// Gives axis AXIS_id its value. Axes without one are left to the kernel's defaults.
#define op_set(request, id, value) op_set_axis(request, AXIS_##id, (uint32_t)(value))
static inline void op_set_axis(op_request *r, uint32_t axis, uint32_t value)
{
    r->given |= (uint64_t)1 << axis;
    r->values[axis] = value;
}

// The value of axis AXIS_id.
#define op_get(request, id) ((request)->values[AXIS_##id])
// The macro `name` is defined as a text; printf form.
void op_word(op_words *words, const char *name, const char *format, ...) PRINTF_LIKE(3, 4);
// More text for the macro that op_word defined last; printf form.
void op_word_more(op_words *words, const char *format, ...) PRINTF_LIKE(2, 3);

// Compiles it, or finds it again. The result lives as long as the context.
kiln_status op_kernel_get(kiln *k, const op_request *r, const op_kernel **out);
// Every request that is compiled for the first time is shown to `see` before that, with its macros
// and tunables; NULL: no longer. For tests of the variants that the ops ask for.
typedef void op_see_fn(void *user, const op_program *program, const char *const *define,
                       const char *const *tune);
kiln_status op_see_variants(kiln *k, op_see_fn *see, void *user);

// --- devices and operands
// What the device is; asked once, kept with the context.
kiln_status op_device(kiln *k, const kiln_device_info **out);
// Does it run the warps of a block one after the other, and stop each at a barrier?
static inline bool op_is_in_turn(const kiln *k)
{
    return k->caps.is_host && !k->caps.is_emulated;
}
// What an op keeps with the context: made when first asked for, dropped with it. NULL: there is no
// memory for it.
typedef enum op_keeper {
    OP_KEEP_MATMUL,
    OP_KEEP_MATMUL_SCRATCH,
    OP_KEEP_MATMUL_TILES,
    OP_KEEP_ATTENTION_SCRATCH,
    OP_KEEP_ATTENTION_TUNED,
    OP_KEEP_MATMUL_WAYS,
    OP_KEEP_CONV_PLANS,
    OP_KEEP_MATMUL_SUMS,
    OP_KEEP_FUSE_SCRATCH,
    OP_KEEP_POOL_SCRATCH,
    OP_KEEP_COUNT
} op_keeper;
void *op_keep(kiln *k, op_keeper which, void *(*make)(kiln *k), void (*drop)(void *kept));
// UINT64_MAX when it is more: no buffer is that long.
uint64_t op_product(uint64_t a, uint64_t b);

static inline uint64_t op_ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static inline uint64_t op_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// Checks an operand: a live buffer of `k` that holds elements first … first + count - 1.
// `op` and `name` are for the message.
kiln_status op_check_buffer(kiln *k, const char *op, const char *name, const kiln_buffer *b,
                            uint64_t first, uint64_t count);

#endif
