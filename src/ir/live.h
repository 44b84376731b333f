// Liveness: where a value is needed. Positions number the instructions of a function in reading
// order; a control instruction has a second one for its end. Three questions, each computed when
// asked for:
//   ir_live_spans: from where to where does each value live? One interval a value, for giving out
//     registers and slots. A value from outside that is used in a loop lives until that loop's end.
//   ir_live_uses: which instructions use it?
//   ir_live_at: may it still be needed behind this point? Branches that exclude each other do not
//     count; that a branch surely leaves its loop is not seen. ir_live_list gives all such values.
#ifndef KILN_IR_LIVE_H
#define KILN_IR_LIVE_H

#include "ir/ir.h"

typedef struct ir_life {
    uint32_t from;  // position where it is made; 0: a parameter, or never
    uint32_t until; // the last position at which any lane may need it; `from` when none does
    uint32_t
        last_use; // the last use in reading order, loops not counted; `from` when there is none
} ir_life;

typedef struct ir_live {
    const ir_func *f;
    uint32_t *start, *end;  // per instruction: positions; the same without regions
    uint32_t *depth;        // per instruction: loops around it
    uint32_t last;          // the last position
    ir_life *lives;         // per value (ir_live_spans)
    uint32_t *first_use;    // per value: uses[first_use[v] … first_use[v + 1]) (ir_live_uses)
    ir_inst_id *uses;       // instructions that name it
    vec(ir_inst_id) around; // loops, while spans are found
    arena *a;
} ir_live;

// What a user of spans counts otherwise than by operands and results.
typedef struct ir_live_rules {
    // Tells what the instruction uses by ir_live_use. False: it is not there, and makes nothing.
    // Called in reading order. NULL: its operands.
    bool (*uses)(void *user, ir_live *l, ir_inst_id id);
    // Whether a control's results are written inside it, so that they live from its start. NULL:
    // from its end.
    bool (*is_early)(void *user, ir_inst_id control);
    void *user;
} ir_live_rules;

ir_live ir_live_number(const ir_func *f, arena *a);
void ir_live_spans(ir_live *l, const ir_live_rules *rules);
void ir_live_use(ir_live *l, ir_inst_id id, ir_ref r);
void ir_live_uses(ir_live *l);

typedef struct ir_point { // behind an instruction
    uint32_t at;
    ir_region_id region;
} ir_point;

ir_point ir_point_behind(const ir_live *l, ir_inst_id id);
ir_point ir_point_of(const ir_live *l, ir_ref value); // where it is made
bool ir_live_at(const ir_live *l, ir_ref value, ir_point p);
typedef vec(ir_ref) ir_refs;
void ir_live_list(const ir_live *l, ir_point p, arena *a, ir_refs *out);

#endif
