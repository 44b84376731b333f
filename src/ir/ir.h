// The IR: typed SSA with structured control flow, in per-function arrays.
//
// Shape. A module holds functions, shared arrays, constant data and strings. A function has one
// body region. A region is a list of instructions that ends in a terminator; it may have arguments
// (only a loop's region and the body do). Control instructions (block, if, loop, switch) own
// regions.
//
// Control. `exit X, v…` leaves the enclosing control instruction X, whose results become v…; from
// deep inside it leaves all between. `next L, v…` starts the next round of the enclosing loop L
// with arguments v…. `return` leaves the function. There is no other transfer. Falling out of a
// branch is `exit` of that very `if`. C's `continue` in a for loop is `exit` of a block around the
// loop's body.
//
// Values. An ir_ref is 0 (none), a value of this function or a constant of this function. A value
// is visible after its definition in its region and in the regions nested after it: dominance is
// nesting. Values are scalars; a C vector or struct is several values or memory. Arithmetic is on
// i32 i64 f32 f64 (and i1 for logic); the narrow types only travel: load, store, convert, select,
// control results.
//
// SIMT. 32 lanes run in lockstep under structured masks: an `if` runs both sides under their masks
// and reconverges after it; a loop runs until no lane wants another round; lanes that left wait at
// the instruction they exited.
//
// Memory. Pointers are 64-bit with an address space in their type. ptr.gen may point anywhere.
#ifndef KILN_IR_H
#define KILN_IR_H

#include "base/bug.h"
#include "base/map.h"
#include "base/source.h"
#include "base/vec.h"
#include "ir/ops.h"

typedef uint32_t ir_ref;       // see IR_REF_* below
typedef uint32_t ir_inst_id;   // 0: none; index into f->insts
typedef uint32_t ir_region_id; // 0: none; index into f->regions

// clang-format off
typedef enum ir_type {
    IR_VOID,
    IR_I1, IR_I8, IR_I16, IR_I32, IR_I64,
    IR_F16, IR_BF16, IR_F8E4, IR_F8E5, IR_F32, IR_F64,
    IR_PTR_GEN, IR_PTR_GLOBAL, IR_PTR_SHARED, IR_PTR_LOCAL, IR_PTR_CONST, IR_PTR_PARAM,
    IR_TYPE_COUNT
} ir_type;

typedef enum ir_effect { IR_FX_PURE, IR_FX_READ, IR_FX_WRITE, IR_FX_CONV, IR_FX_CTRL, IR_FX_SIDE } ir_effect;
typedef enum ir_atomic { IR_AT_ADD, IR_AT_SMIN, IR_AT_SMAX, IR_AT_UMIN, IR_AT_UMAX, IR_AT_AND, IR_AT_OR, IR_AT_XOR,
                         IR_AT_XCHG, IR_AT_FADD, IR_AT_FMIN, IR_AT_FMAX, IR_AT_COUNT } ir_atomic;
typedef enum ir_shuffle { IR_SH_IDX, IR_SH_UP, IR_SH_DOWN, IR_SH_XOR } ir_shuffle;
typedef enum ir_order { IR_RELAXED, IR_ACQUIRE, IR_RELEASE, IR_ACQ_REL, IR_SEQ_CST } ir_order;
typedef enum ir_scope { IR_SCOPE_DEVICE, IR_SCOPE_BLOCK, IR_SCOPE_CLUSTER, IR_SCOPE_SYSTEM } ir_scope;
typedef enum ir_hint { IR_HINT_NONE, IR_HINT_READONLY, IR_HINT_STREAM, IR_HINT_VOLATILE } ir_hint;
// clang-format on

// --- references
#define IR_CONST_BIT 0x80000000u
#define IR_NONE      0u
static inline bool ir_is_const(ir_ref r)
{
    return (r & IR_CONST_BIT) != 0;
}
static inline uint32_t ir_index(ir_ref r)
{
    return r & ~IR_CONST_BIT;
}

typedef struct ir_const {
    ir_type type;
    uint64_t bits; // zero-extended; i1 is 0 or 1; the float's own bit pattern
} ir_const;

typedef enum ir_def { IR_DEF_INST, IR_DEF_REGION_ARG, IR_DEF_PARAM } ir_def;

typedef struct ir_value {
    uint8_t type;     // ir_type
    uint8_t def;      // ir_def
    uint16_t index;   // which result, argument or parameter
    uint32_t owner;   // the instruction or region (0 for a parameter)
    const char *name; // the C variable it came from, or NULL; for printing and messages
} ir_value;

typedef struct ir_inst { // 64 bytes, a line of the cache: every pass walks over all of them
    ir_op op : 16;       // an enum, so that the compiler checks switches over it
    uint8_t type;        // ir_type `t` of ops.def
    uint8_t hint;        // ir_hint (memory)
    uint8_t order;       // ir_order (atomics, fences)
    uint8_t scope;       // ir_scope
    union {
        uint16_t align; // memory: known alignment in bytes of pointer + imm, 0: natural
        int16_t unroll; // LOOP: 0 the compiler decides, 1 never, n by n, -1 fully
    };
    uint32_t aux;        // see ops.def
    ir_region_id parent; // the region it stands in
    union {
        int64_t imm;    // see ops.def
        int64_t *cases; // SWITCH: region_count - 1 values
    };
    uint32_t operands, operand_count; // slice of f->operands
    ir_ref result;                    // first result; results are consecutive values; 0: none
    uint32_t result_count;
    ir_region_id regions; // first; consecutive
    uint32_t region_count;
    ir_inst_id prev, next; // in that region
    span at;
} ir_inst;
_Static_assert(sizeof(ir_inst) == 64, "see there");

typedef struct ir_region {
    ir_inst_id owner; // control instruction; 0: the function's body
    ir_inst_id first, last;
    ir_ref args; // first argument value
    uint32_t arg_count;
} ir_region;

typedef enum ir_param_kind {
    IR_PARAM_SCALAR,
    IR_PARAM_POINTER,
    IR_PARAM_BYTES,     // a struct; its value is its address in the parameters
    IR_PARAM_TENSOR_MAP // the same, but only the copy engine reads it (nv.def, letter m)
} ir_param_kind;
enum { IR_TENSOR_MAP_BYTES = 128, IR_TENSOR_MAP_ALIGN = 64 };

typedef struct ir_param {
    const char *name;
    uint8_t kind;       // ir_param_kind
    uint8_t type;       // ir_type of the value: scalar, ptr.global, or ptr.param for the others
    uint8_t elem;       // POINTER: ir_type of what it points to, IR_VOID for structs and void
    bool elem_unsigned; // of the scalar, or of what it points to
    bool is_const;      // POINTER: to const
    bool is_restrict;
    bool is_hidden;       // after the user's own: the heap (a pointer), then the bytes behind the
                          // n-th pointer parameter (pass bounds)
    uint32_t size, align; // BYTES: of the struct; TENSOR_MAP: fixed; else of the scalar
    uint32_t elem_size, elem_align; // POINTER
    const char *c_type;             // as the user would write it: "const f32 *"
    span at;
} ir_param;

// Does it lie in the parameters, at the address that is its value?
static inline bool ir_param_has_bytes(const ir_param *p)
{
    return p->kind == IR_PARAM_BYTES || p->kind == IR_PARAM_TENSOR_MAP;
}

typedef struct ir_local {
    const char *name;
    uint64_t size;
    uint32_t align;
    uint8_t elem; // ir_type of its scalars when they are all one type, else IR_VOID
    uint32_t row; // bytes of an element that is a record, for messages; 0: elements are scalars
    span at;
} ir_local;

typedef struct ir_func {
    struct ir_module *module;
    const char *name;
    bool is_kernel;
    // Device functions. A call of one that `is_kept` is a real one; of any other it is inlined.
    bool is_noinline;         // marked: keep it where that can be
    bool is_kept;             // pass calls decided so
    bool is_dispatcher;       // of calls through pointers: lies about no place of its own
    bool is_bounded;          // its last parameter counts the calls of its circle that wait
    uint32_t recursion_limit; // most of them; 0: the default
    bool
        allows_early_return; // a collective that some threads miss by `return` is only warned about
    uint32_t block[3];       // {0,0,0}: decided at launch
    uint32_t cluster[3];     // {0,0,0}: none
    uint32_t min_blocks;     // 0: not given
    uint32_t max_registers;  // 0: not given
    uint32_t max_threads;    // of a block whose size the launch gives; 0: not given
    vec(ir_param) params;
    ir_ref first_param;   // the parameters' values are consecutive
    vec(uint8_t) returns; // ir_type of each result (device functions)
    vec(ir_local) locals;
    vec(ir_value) values;   // [0] unused
    vec(ir_const) consts;   // [0] unused
    vec(ir_inst) insts;     // [0] unused
    vec(ir_region) regions; // [0] unused
    vec(ir_ref) operands;
    ir_region_id body;
    map const_index;     // (type, bits) hash -> ref
    span at, cluster_at; // of the name, of the mark
} ir_func;

typedef struct ir_shared {
    const char *name;
    uint64_t size; // 0 and is_dynamic: the launch's dynamic shared memory
    uint32_t align;
    uint8_t elem; // ir_type or IR_VOID
    uint32_t row;
    bool is_dynamic;
    const ir_func *used_by; // the only kernel that uses it, or NULL: unknown
    span at;
} ir_shared;

typedef struct ir_data {
    const char *name;
    const uint8_t *bytes;
    uint64_t size;
    uint32_t align;
    uint8_t elem;
    uint32_t row;
    span at;
} ir_data;

// A number that the source gives a name, for the host to ask for. Code has no use of it, and the
// text form leaves it out.
typedef struct ir_named {
    const char *name;
    int64_t value;
} ir_named;

typedef struct ir_module {
    bool is_plain; // not optimised: variables are memory, constants may be computed
    arena *in;
    name_table *names;
    source_map *sources; // may be NULL (IR read from text)
    const char *name;
    vec(ir_func *) funcs;
    vec(ir_shared) shared;
    vec(ir_data) data;
    vec(str) strings;
    vec(ir_named) constants;         // enum constants at file scope, tunables
    const struct ir_module *library; // what the target's code calls (back/back.h); NULL: nothing
} ir_module;

// --- tables
const char *ir_op_name(ir_op op);
ir_op ir_op_find(str name); // IR_NOP when unknown
extern const uint8_t ir_op_effects[IR_OP_COUNT], ir_op_families[IR_OP_COUNT];
static inline ir_family ir_op_family(ir_op op)
{
    return (ir_family)ir_op_families[op];
}
static inline ir_effect ir_op_effect(ir_op op)
{
    return (ir_effect)ir_op_effects[op];
}
const char *ir_type_name(ir_type t); // "i32", "ptr.global"
ir_type ir_type_find(str name);      // IR_VOID when unknown
typedef struct ir_type_row {
    const char *name;
    uint8_t size;
} ir_type_row;
extern const ir_type_row ir_type_rows[IR_TYPE_COUNT];
static inline uint32_t ir_type_size(ir_type t) // bytes in memory; i1 is 1
{
    return t < IR_TYPE_COUNT ? ir_type_rows[t].size : 0;
}
// The bytes that messages count an array in, or 0: any.
static inline uint32_t ir_row_size(uint8_t elem, uint32_t row)
{
    return row ? row : ir_type_size((ir_type)elem);
}
static inline bool ir_is_ptr(ir_type t)
{
    return t >= IR_PTR_GEN;
}
static inline bool ir_is_int(ir_type t)
{
    return t >= IR_I1 && t <= IR_I64;
}
static inline bool ir_is_float(ir_type t)
{
    return t >= IR_F16 && t <= IR_F64;
}
static inline bool ir_is_control(ir_op op)
{
    return ir_op_family(op) == IR_FAM_CONTROL;
}
static inline bool ir_is_terminator(ir_op op)
{
    return ir_op_family(op) == IR_FAM_END;
}

// --- what a failed ASSERT means, by its text: a condition of the author's begins in neither way
#define IR_TEXT_RECURSION "recursion deeper than "
#define IR_TEXT_POINTER   "call through a pointer that is no "

// --- access
static inline ir_inst *ir_at(const ir_func *f, ir_inst_id i)
{
    return &f->insts.at[i];
}
static inline ir_region *ir_region_at(const ir_func *f, ir_region_id r)
{
    return &f->regions.at[r];
}
static inline ir_ref *ir_operands(const ir_func *f, const ir_inst *i)
{
    return f->operands.at + i->operands;
}
static inline ir_ref ir_operand(const ir_func *f, const ir_inst *i, uint32_t k)
{
    return f->operands.at[i->operands + k];
}
static inline ir_type ir_type_of(const ir_func *f, ir_ref r)
{
    return ir_is_const(r) ? f->consts.at[ir_index(r)].type : (ir_type)f->values.at[r].type;
}
// The instruction that defines `r`, or 0 for constants, arguments and parameters.
static inline ir_inst_id ir_def_of(const ir_func *f, ir_ref r)
{
    bool is_inst = r && !ir_is_const(r) && f->values.at[r].def == IR_DEF_INST;
    return is_inst ? f->values.at[r].owner : 0;
}
// True when r is a constant; *bits gets its pattern.
static inline bool ir_const_bits(const ir_func *f, ir_ref r, uint64_t *bits)
{
    if (!ir_is_const(r))
        return false;
    *bits = f->consts.at[ir_index(r)].bits;
    return true;
}

// --- building (build.c); the public builder kiln/ir.h wraps these
ir_module *ir_module_in(arena *a, name_table *names);
ir_func *ir_func_add(ir_module *m, const char *name);
// Adds a parameter and returns its value. All parameters come before the first instruction.
ir_ref ir_param_add(ir_func *f, ir_param param);
ir_ref ir_constant(ir_func *f, ir_type type, uint64_t bits); // the same constant gives the same ref
ir_ref ir_i32(ir_func *f, int32_t v);
ir_ref ir_i64(ir_func *f, int64_t v);
ir_ref ir_f32(ir_func *f, float v);
ir_ref ir_f64(ir_func *f, double v);
ir_ref ir_bool(ir_func *f, bool v);

// Where new instructions go: before `before`, or at the end of `region` when it is 0.
typedef struct ir_cursor {
    ir_func *f;
    ir_region_id region;
    ir_inst_id before;
    span at; // given to every instruction made through the cursor
} ir_cursor;

// The raw maker. Returns the instruction; its results are fresh values of `result_types`.
// Pointers from ir_at() and ir_operands() are invalid afterwards.
ir_inst_id ir_add(ir_cursor *c, ir_op op, ir_type type, const ir_ref *operands,
                  uint32_t operand_count, const uint8_t *result_types, uint32_t result_count);
// A copy of an instruction without regions: all but its operands, with names and types of its
// results. `from` may be the same function; `like` may lie in its array when that has room for one
// more.
ir_inst_id ir_add_like(ir_cursor *c, const ir_func *from, const ir_inst *like,
                       const ir_ref *operands);
// One-result forms.
ir_ref ir_un(ir_cursor *c, ir_op op, ir_type type, ir_ref a);
ir_ref ir_bin(ir_cursor *c, ir_op op, ir_type type, ir_ref a,
              ir_ref b);                                         // result i1 for comparisons
ir_ref ir_convert(ir_cursor *c, ir_op op, ir_type to, ir_ref a); // sets aux from a's type
ir_ref ir_select(ir_cursor *c, ir_ref condition, ir_ref yes, ir_ref no);
ir_ref ir_load(ir_cursor *c, ir_type type, ir_ref pointer, int64_t offset);
void ir_store(ir_cursor *c, ir_type type, ir_ref pointer, int64_t offset, ir_ref value);
ir_ref ir_ptradd(ir_cursor *c, ir_ref pointer, ir_ref bytes_i64);
// Control: makes the instruction and its empty regions (with `arg_types` arguments for LOOP).
ir_inst_id ir_control(ir_cursor *c, ir_op op, const ir_ref *operands, uint32_t operand_count,
                      uint32_t region_count, const uint8_t *result_types, uint32_t result_count);
ir_inst_id ir_exit(ir_cursor *c, ir_inst_id target, const ir_ref *values, uint32_t count);
ir_inst_id ir_next(ir_cursor *c, ir_inst_id loop, const ir_ref *values, uint32_t count);
ir_inst_id ir_return(ir_cursor *c, const ir_ref *values, uint32_t count);
ir_region_id ir_new_region(ir_func *f, ir_inst_id owner);
ir_ref ir_region_arg(ir_func *f, ir_region_id region,
                     ir_type type); // appends one argument; the region's
                                    // arguments must be made in one go
static inline ir_cursor ir_at_end(ir_func *f, ir_region_id region, span at)
{
    return (ir_cursor){f, region, 0, at};
}
static inline ir_cursor ir_before(ir_func *f, ir_inst_id inst)
{
    return (ir_cursor){f, ir_at(f, inst)->parent, inst, ir_at(f, inst)->at};
}

// Does it call functions that stay?
bool ir_has_calls(const ir_func *f);

// --- changing (edit.c)
void ir_unlink(ir_func *f, ir_inst_id inst);   // takes it out of its region, keeps it
void ir_insert(ir_cursor *c, ir_inst_id inst); // puts an unlinked one in (fixes parent)
void ir_remove(ir_func *f, ir_inst_id inst);   // unlinks and turns it and all inside into NOP
void ir_replace_uses(ir_func *f, ir_ref old,
                     ir_ref with); // everywhere; prefer ir_rename for many at once
// Applies `with[value]` (0: keep) to every operand of the function, following chains. `with` has
// values.len entries.
void ir_rename(ir_func *f, const ir_ref *with);
void ir_set_operands(ir_func *f, ir_inst_id inst, const ir_ref *operands, uint32_t count);
// Replaces the results (fresh values of these types); old ones must be renamed by the caller.
void ir_set_results(ir_func *f, ir_inst_id inst, const uint8_t *types, uint32_t count);
// Copies the instructions of `from` (a region, maybe of another function) to the cursor, through
// `value_map` (old ref -> new ref; constants are remapped by themselves). Control targets inside
// the copy follow it; targets outside go through `target_map` (old inst -> new inst; may be NULL).
void ir_clone_region(ir_cursor *c, const ir_func *from_func, ir_region_id from, map *value_map,
                     map *target_map);
// Drops tombstones and renumbers values, instructions, regions, constants in reading order
// (printing stays stable). `scratch` is left as it was.
void ir_compact(ir_func *f, arena *scratch);

// --- text, checking, identity
void ir_print_module(const ir_module *m, text *out);
void ir_print_func(const ir_func *f, text *out);
// Reads the text form. NULL on a mistake; *error gets a sentence with line:column, in the arena.
ir_module *ir_read(arena *a, name_table *names, str input, const char **error);
// NULL when sound, else a sentence that names function and instruction.
const char *ir_verify(const ir_func *f, arena *scratch);
const char *ir_verify_module(const ir_module *m, arena *scratch);
// Same IR, same hash; names of values and spans do not count.
uint64_t ir_hash_func(const ir_func *f);

#endif
