// What decode.c and decode_inst.c share.
#ifndef KILN_INTERP_DECODE_H
#define KILN_INTERP_DECODE_H

#include "dev/interp/engine.h"
#include "ir/layout.h"
#include "ir/live.h"

typedef struct decoder {
    uint32_t uniform_cap; // bytes that p->uniform has room for
    arena *a, *scratch;
    const ir_func *f;
    interp_program *p;
    ir_layout locals, shared;
    bool fast; // lane loops for this processor
    ir_live live;
    ir_ref *root;                 // per value: the value (or constant) whose slot it shares
    uint32_t *next_count;         // per loop: how many `next` it has
    uint32_t *dying, *dying_next; // per position: list of values
    // slots
    uint32_t *slot;   // per value
    uint32_t *preset; // per value: slot + 1 it must be made in
    uint32_t fixed_bytes;
    uint32_t *specials;          // slot of each, or NO_SLOT: the kernel's or the function's
    interp_function *function;   // being decoded; NULL: the kernel itself
    uint32_t *number;            // per function of the module: 1 + its place in p->functions
    vec(const ir_func *) wanted; // functions that are called, by that place
    vec(uint32_t) free_slots[4]; // by size class
    uint32_t move_slot[4];       // for cycles of moves; 0: none yet (slot + 1)
    map constants[4];            // bits -> slot + 1
    map arrays;                  // op, index -> segment + 1
    map files, place_index;
    // code
    uint32_t *depth; // per control instruction
    vec(code) code;
    vec(code_info) info;
    vec(uint32_t) extra;
    vec(int64_t) cases;
    vec(uint32_t) targets;
    vec(place) places;
    // wgmma; NULL without
    bool *is_acc;      // per value: its slot may be an accumulator under way
    bool *feeds;       // per value: wgmma takes it from a register
    uint32_t *until;   // per value: another value has its slot from this position on
    bool *is_heir;     // per value: made in a slot that it frees, whatever `preset` says
    bool *is_robbed;   // per value: another one has its slot now
    ir_ref *same_slot; // per loop result: the argument it shares a slot with
    // for a checker
    unsigned watch;   // INTERP_WATCH_…
    uint8_t *watched; // per instruction: 1 + watch_flag; 0: not watched
    vec(span) spans;
} decoder;

uint32_t decode_slot(decoder *d, ir_ref r);
ir_ref decode_root(const decoder *d, ir_ref r); // whose slot it shares
uint32_t decode_segment(decoder *d, segment_kind kind, const char *name, uint64_t at, uint64_t size,
                        uint32_t elem_size);
uint32_t decode_address_slot(decoder *d, uint32_t segment);
code *decode_emit(decoder *d, code_op op, const ir_inst *i);
void interp_broadcast(void *slot, uint32_t size, uint64_t bits);

// --- decode_nv.c
void decode_nv_plan(decoder *d);                    // after liveness, before lifetimes are sorted
void decode_nv_slots(decoder *d, const ir_inst *i); // results that take over operands' slots
void decode_nv(decoder *d, const ir_inst *i);
void decode_nv_before(decoder *d, const ir_inst *i); // an instruction of another kind
void decode_nv_after(decoder *d, const ir_inst *i);
void decode_nv_moves(decoder *d, const ir_inst *at, ir_ref first, const ir_ref *from,
                     uint32_t count);
void decode_nv_facts(interp_program *p, const ir_inst *i);

// --- decode_watch.c: fills d->watched and p->granule.
void decode_watch(decoder *d);

// --- decode_inst.c
// The special whose slot is the result of `i`, or -1.
int decode_special(const ir_inst *i);
void decode_plain(decoder *d, const ir_inst *i); // results have slots
void decode_call(decoder *d, const ir_inst *i);
void decode_return(decoder *d, const ir_inst *i);
void decode_local(decoder *d, const ir_inst *i); // of a function
typedef enum move_kind { MOVE_EXIT, MOVE_NEXT, MOVE_ALL } move_kind;
// Parallel moves of `from` into the slots of the values first, first + 1, …
void decode_moves(decoder *d, const ir_inst *at, ir_ref first, const ir_ref *from, uint32_t count,
                  move_kind kind, uint32_t depth);
void decode_strings(decoder *d);
void decode_facts(decoder *d); // is_sequential, keeps_warps

#endif
