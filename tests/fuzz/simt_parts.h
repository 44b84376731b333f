// What simt_expr.c (expressions), simt_group.c (collectives, shared memory), simt_jump.c (jumps)
// and simt_stmt.c (statements, whole kernels) share.
#ifndef KILN_FUZZ_SIMT_PARTS_H
#define KILN_FUZZ_SIMT_PARTS_H

#include "fuzz/simt.h"

enum { SIMT_WORDS = 32, SIMT_MAX_VARS = 48, SIMT_MAX_LABELS = 12 };

typedef enum simt_type {
    ST_I8,
    ST_U8,
    ST_I16,
    ST_U16,
    ST_I32,
    ST_U32,
    ST_I64,
    ST_U64,
    ST_F32,
    ST_F64,
    ST_BOOL,
    ST_COUNT
} simt_type;

typedef struct simt_var {
    char name[16];
    simt_type type;
    uint32_t length;  // elements of a private array, a power of two; 0: a scalar
    bool is_lane;     // the oracle has one for each lane: name[L]
    bool is_constant; // may not be assigned: a loop's counter, a parameter
} simt_var;

typedef struct simt_helper {
    simt_type result, params[3];
} simt_helper;

typedef struct simt_label { // g_<name>, which may be jumped to
    uint32_t name;
    uint32_t fuel; // f_<fuel> counts the jumps there; 0: a function's tail, r_<name> is set before
} simt_label;

typedef struct simt {
    uint64_t random;
    uint32_t number, threads, grid;
    FILE *kiln, *oracle; // every text goes to both, except where the two languages differ
    simt_var vars[SIMT_MAX_VARS];
    uint32_t var_count, lane_count; // the first lane_count are the kernel's own variables
    simt_helper helpers[3];
    uint32_t helper_count;
    uint32_t next_name, next_mark, shared_count;
    simt_label labels[SIMT_MAX_LABELS]; // of the blocks around
    uint32_t label_count, tail_vars;
    uint32_t together; // g_<together> is behind the outermost uniform loop; 0: there is none
    simt_type result;  // of the function that is written, where may_return
    bool may_return;
    int indent, budget;
    bool is_returned; // some lanes may have left: no collectives from here on
} simt;

uint32_t simt_below(simt *g, uint32_t n);
bool simt_chance(simt *g, uint32_t percent);
const char *simt_type_name(simt_type t);
bool simt_is_float(simt_type t);
bool simt_is_narrow(simt_type t);
simt_type simt_any_type(simt *g);
simt_type simt_int_type(simt *g);
simt_type simt_wide_type(simt *g); // i32 u32 i64 u64

void simt_both(simt *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void simt_kiln(simt *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void simt_oracle(simt *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

void simt_var_write(simt *g,
                    const simt_var *v); // as it is read or assigned (arrays: without index)
// A scalar variable of this type that may be assigned; NULL: there is none.
simt_var *simt_target(simt *g, simt_type t);
// An expression of exactly this type, written to both texts.
void simt_expr(simt *g, simt_type t, int depth);
void simt_condition(simt *g, int depth);
void simt_number(simt *g, simt_type t); // a literal

typedef struct simt_update { // an atomic operation whose order does not matter
    const char *name, *op;
} simt_update;
enum { SIMT_UPDATES = 7 };
extern const simt_update simt_updates[SIMT_UPDATES];

#define SIMT_LANES "for (int L = L0; L < L1; L++) "

void simt_line(simt *g);                          // begins a line
void simt_stop(simt *g, uint32_t mark);           // ends one, see simt_stmt.c
void simt_value(simt *g, simt_type t, int depth); // an expression with a budget of its own
void simt_test(simt *g, int depth);               // a condition with one
void simt_statements(simt *g, int count, int depth, bool in_loop);         // what one lane does
void simt_oracle_update(simt *g, const simt_update *u, const char *place); // by X

void simt_jump(simt *g, int depth, bool in_loop);
void simt_open_tail(simt *g, simt_type result);
uint32_t simt_close_tail(simt *g); // r_<answer> is what ways there have set; 0: there is no tail
// All threads leave a uniform loop if one wants to: by goto to a label, or by break (0).
void simt_leave_together(simt *g, bool is_block, uint32_t out);

void simt_shuffle(simt *g);
void simt_vote(simt *g, bool is_block);
void simt_match(simt *g);
void simt_reduce(simt *g, bool is_block);
void simt_exchange(simt *g);
void simt_shared_atomic(simt *g);
void simt_open_input(simt *g, simt_type t); // the oracle's lanes give a collective's operand

#endif
