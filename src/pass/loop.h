// Loop analysis shared by unroll, licm, strength, range and the remarks: how a LOOP counts, where
// it leaves, how often it goes round; and constant evaluation of integer trees.
#ifndef KILN_LOOP_H
#define KILN_LOOP_H

#include "ir/ir.h"

typedef struct loop_info {
    ir_inst_id loop;
    ir_region_id body;
    ir_inst_id exit_if;  // an IF standing in the loop's own region with one side that only leaves
                         // the loop and one that goes on; 0: none
    uint32_t exit_side;  // the region of exit_if that leaves
    ir_inst_id leave;    // the EXIT there
    bool goes_on_inside; // the other side holds the rest of the round (and its NEXT)
    ir_inst_id next;     // the only NEXT, the last of the loop's region; 0: several, or deeper
    uint32_t exits;      // EXITs and RETURNs that leave the loop, exit_if's included
    uint32_t own_exits;  // EXITs of this very loop among them
    uint32_t size;       // instructions inside
    bool has_loop;       // a loop inside
} loop_info;

loop_info loop_look(const ir_func *f, ir_inst_id loop);

// How argument `arg` counts: from its first value by `step` each round (in the only NEXT).
typedef struct loop_count {
    ir_ref arg, init, stepped; // stepped: the value handed to NEXT
    uint32_t index;
    uint64_t step; // as bits of the argument's type
} loop_count;
bool loop_counts(const ir_func *f, const loop_info *l, uint32_t arg_index, loop_count *out);

// The test of exit_if as `counter OP limit` that holds while the loop goes on. `counter` is a
// loop argument with a constant step or its stepped value.
typedef struct loop_test {
    loop_count count;
    bool is_stepped; // the stepped value is compared
    ir_op op;        // IR_SLT IR_SLE IR_ULT IR_ULE (counter on the left), IR_INE
    bool is_greater; // operands swapped: limit OP counter
    ir_ref limit;    // a constant, or defined outside of the loop
} loop_test;
bool loop_find_test(const ir_func *f, const loop_info *l, loop_test *out);

// Rounds in which exit_if goes on, when all is constant and at most `most`; -1: not known.
int64_t loop_trips(const ir_func *f, const loop_info *l, int64_t most);

// Is `r` defined outside of the control instruction?
bool loop_is_outside(const ir_func *f, ir_ref r, ir_inst_id control);
bool loop_is_region_inside(const ir_func *f, ir_region_id r, ir_inst_id control);

// Integers of `count` consecutive values, where known.
typedef struct loop_known {
    ir_ref first;
    uint32_t count;
    uint64_t *bits;
    bool *is_known;
} loop_known;
// Value of an integer tree with `known` leaves (may be NULL). False when something in it is not
// known.
bool loop_eval(const ir_func *f, ir_ref r, const loop_known *known, int fuel, uint64_t *bits);
// The loop's arguments as they start: those whose every round can be computed.
loop_known loop_start(const ir_func *f, const loop_info *l, arena *a);
// One round further.
void loop_step(const ir_func *f, const loop_info *l, loop_known *known, arena *a);
int64_t loop_signed(ir_type t, uint64_t bits);

#endif
