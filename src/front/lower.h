// Lowering's own contract: the checked tree to IR. Only lower_*.c include this.
//
// Shape of what comes out (the passes rely on it):
// - A variable is a `local` slot at first; all `local` instructions stand at the start of the body,
//   one per variable. Parameters that are never written, and scalars that are never written after
//   their declaration, are plain values.
// - A variable declared without a value is set to 0 where it is declared; arrays and records above
//   LOWER_LEAF_LIMIT scalars are left to the rule that a thread's locals start as 0.
// - while, for:  loop { cond; if c {exit if} {exit loop}; body; step; next loop }
//   do:          loop { body; cond; if c {next loop} {exit loop}; unreachable }
//   The body is wrapped in a `block` only when it holds a `continue`, which is `exit` of it. A loop
//   whose condition is constantly true has no `if`; `do … while (0)` is a `block` or nothing.
// - switch: `case` bodies stand in the switch's regions. Groups with several labels, or that fall
//   into each other, follow the `block` that their labels exit. Labels inside inner statements:
//   see lower_switch.c.
// - a[i] is ptradd(a, mul(sext or zext i to i64, size)); constant parts go to the access's offset.
// - Records are addresses; a copy loads all scalars, then stores them, vectors in wide accesses.
#ifndef KILN_LOWER_H
#define KILN_LOWER_H

#include "front/front.h"

enum { LOWER_LEAF_LIMIT = 256 }; // records above this many scalars are copied by a loop

typedef struct place { // an object in memory: where, and how it is accessed
    ir_ref base;
    int64_t offset;
    const type *type;
    uint8_t hint;      // ir_hint
    const field *bits; // the bit-field that it is, or NULL; `offset` is that of its first unit
} place;

typedef struct var_slot { // what ast_decl.lower_data of a variable points to
    ir_ref pointer;       // its memory, or
    ir_ref value;         // itself, when it never changes and needs no memory
} var_slot;

typedef struct jump { // where `break` or `continue` goes
    ir_inst_id inst;
    bool is_used;
} jump;

typedef struct dispatcher { // calls the function that a pointer of this type points to
    const type *type;
    ir_func *func;
    uint32_t index; // in module->funcs
    span at;        // of the first such call
} dispatcher;

typedef struct lower {
    front *f;
    ir_module *module;
    ir_func *func;
    ast_decl *decl;
    ir_cursor at;
    bool is_dead;      // the cursor's region has ended: what follows is dropped
    bool needs_memory; // the declaration being lowered may be used outside its region
    jump *break_to, *continue_to;
    const type *thread_type; // of the variables that each thread has, or NULL: functions get a
    ir_ref thread;           // pointer to them as their last parameter
    ir_ref result_pointer;   // where a record result goes
    ir_inst_id last_local;   // the newest `local`, after which the next one goes
    vec(ast_decl *) wanted;  // functions to lower
    vec(dispatcher) dispatchers;
} lower;

static inline uint64_t lower_size(const type *t)
{
    return type_is_record(t) ? type_def(t)->size : t->size;
}

// Offsets wrap, as addresses do.
static inline int64_t lower_offset(int64_t offset, uint64_t more)
{
    return (int64_t)((uint64_t)offset + more);
}

// --- lower_place.c: memory
ir_ref lower_local(lower *l, const char *name, const type *t, uint32_t align, span at);
var_slot *lower_slot(lower *l, ast_decl *d); // a variable's, made on first need
place lower_temp(lower *l, const type *t, span at);
place lower_place(lower *l, const ast_expr *e);   // of an lvalue, or of a record value
place lower_pointee(lower *l, const ast_expr *e); // what the pointer value `e` points to
// What lies `offset` bytes behind the start of p, inside it; `bits` as in place.
place lower_inside(lower *l, place p, uint64_t offset, const type *t, const field *bits);
ir_ref lower_address(lower *l, place p);        // as a pointer in p's own space
ir_ref lower_generic(lower *l, ir_ref pointer); // the same pointer as ptr.gen
ir_ref lower_load(lower *l, place p);           // of a scalar
void lower_store(lower *l, place p, ir_ref value);

// --- lower_bits.c: bit-fields
ir_ref lower_load_bits(lower *l, place p);
void lower_store_bits(lower *l, place p, ir_ref value);
ir_ref lower_wrap_bits(lower *l, place p, ir_ref value); // what a load gives after the store

// --- lower_place.c
// 2, 4, 8 or 16 neighbours of type t by one access; the place is aligned to all of them.
void lower_load_many(lower *l, place p, ir_type t, uint32_t count, ir_ref *values);
void lower_store_many(lower *l, place p, ir_type t, uint32_t count, const ir_ref *values);
void lower_copy(lower *l, place to, place from);
void lower_zero(lower *l, place to);
void lower_zero_small(lower *l, place to); // unless it has more than LOWER_LEAF_LIMIT scalars
// The index scaled to bytes: an i64 value, or a constant in *constant and 0.
ir_ref lower_scaled(lower *l, const ast_expr *index, uint64_t size, int64_t *constant);

// --- lower_bytes.c: memcpy, memmove and memset of a known, small number of bytes
bool lower_known_bytes(lower *l, const ast_expr *e, ir_ref *pointer); // false: it is none of them

// --- lower_init.c
void lower_init(lower *l, place to, const ast_expr *init);
uint32_t lower_const_data(lower *l, ast_decl *d); // index into module->data
bool lower_const_scalar(lower *l, const ast_expr *e, ir_ref *out);

// --- lower_expr.c
ir_ref lower_value(lower *l, const ast_expr *e); // a scalar; pointers in whatever space is known
ir_ref lower_operand(lower *l,
                     const ast_expr *e); // the same, pointers as ptr.gen: to store, pass, return
ir_ref lower_truth(lower *l, const ast_expr *e); // scalar != 0, as i1
void lower_effect(lower *l, const ast_expr *e);
ir_ref lower_convert(lower *l, ir_ref v, const type *from, const type *to);
ir_ref lower_number(lower *l, const type *t, uint64_t integer, double real); // a constant of type t
place lower_record(lower *l, const ast_expr *e); // a record value that is not an lvalue
bool lower_is_constant(lower *l, const ast_expr *e, bool *truth);

// --- lower_call.c
ir_ref lower_call(lower *l, const ast_expr *e, place *record); // fills *record for a record
void lower_dispatcher(lower *l, uint32_t index);               // its body

// --- lower_heap.c
ir_ref lower_heap_arena(lower *l);         // a stand-in until the next call
void lower_heap_params(ir_module *module); // kernels and functions that use the heap are given it

// --- lower_builtin.c, lower_print.c
ir_ref lower_builtin(lower *l, const ast_expr *e, place *record); // fills *record for a record
void lower_print(lower *l, const ast_expr *e);
void lower_assert(lower *l, const ast_expr *e);

// --- lower_host.c
ir_ref lower_host_call(lower *l, const ast_expr *e, place *record);

// --- lower_nv.c
ir_ref lower_nv(lower *l, const ast_expr *e);   // BK_NV rows
void lower_matrix(lower *l, const ast_expr *e); // BK_MATRIX rows
// The LOWER rows of builtin_nv.def.
ir_ref lower_nv_value(lower *l, const ast_expr *e);

// --- lower_stmt.c
void lower_stmt(lower *l, const ast_stmt *s);
void lower_inner_block(lower *l, const ast_expr *e); // the statements of an E_STMT
void lower_leave(lower *l, jump *to, const ir_ref *values, uint32_t count);
void lower_enter(lower *l, ir_region_id region); // goes on at the region's end
// Goes on after a control instruction in region `outer`; dead when nothing leaves it.
void lower_resume(lower *l, ir_region_id outer, bool is_left, span at);
enum { LOWER_BREAK = 1, LOWER_CONTINUE = 2 };
// Which of `wanted` stand in `s` and leave what is around it.
unsigned lower_jumps_in(const ast_stmt *s, unsigned wanted);

// --- lower_switch.c
void lower_switch(lower *l, const ast_stmt *s);

// --- lower_goto.c
void lower_labelled_block(lower *l, const ast_stmt *s);
void lower_labelled_switch(lower *l, const ast_stmt *s, ir_ref value); // gotos beside its cases
void lower_goto(lower *l, const ast_stmt *s);

// --- lower_walk.c
// True when an array inside the variable `d` becomes a pointer other than to index it on the spot.
bool lower_array_escapes(const ast_stmt *body, const ast_decl *d);
// True when record argument n needs no copy: the callee only reads its parameter, and nothing can
// change the caller's variable meanwhile.
bool lower_keeps_in_place(const lower *l, const ast_expr *call, uint32_t n);

// --- lower_module.c
ir_func *lower_func_of(lower *l, ast_decl *d); // declared on first need, its body queued
// The parameters and the result of functions of this type, as ir_func's.
void lower_signature(lower *l, ir_func *func, const type *t);
uint32_t lower_shared(lower *l, ast_decl *d);
uint32_t lower_string(lower *l, str bytes); // index into module->strings
ir_type lower_leaf_type(const type *t);     // of all scalars in t when they agree, else IR_VOID
uint32_t lower_row_size(const type *t);     // of an element, where t is an array of records; else 0

#endif
