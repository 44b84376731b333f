// What has been computed here: a table of pure results and loads for a walk in reading order.
// Leaving a region takes back what was learned inside (dominance is nesting). Loads join in with
// the age of their memory: every write makes a space newer, so a load finds an older one only when
// nothing was written between.
#ifndef KILN_PASS_KNOWN_H
#define KILN_PASS_KNOWN_H

#include "ir/ir.h"

enum { KNOWN_SPACES = IR_TYPE_COUNT, KNOWN_OPERANDS = 3 };

typedef struct known_entry {
    // All that makes two the same, in words that are hashed and compared at once: operation, type,
    // number of operands and aux; imm; two operands; the third and the memory's age.
    uint64_t what[4];
    uint32_t hash;
    ir_ref value;
    uint32_t below; // the entry it hides in its slot; index + 1
} known_entry;

typedef struct known_table {
    const ir_func *f;
    arena *scratch;
    vec(known_entry) entries; // a stack
    uint32_t *slots;          // hash -> index + 1 of the newest entry
    uint32_t mask;
    uint32_t floor;             // entries below are hidden
    uint32_t age[KNOWN_SPACES]; // per address space
    uint32_t clock;
} known_table;

// `expected`: about how many entries there will be.
known_table known_open(const ir_func *f, arena *scratch, uint32_t expected);
// Is it a result that the table can hold?
static inline bool known_can_be(const ir_inst *i)
{
    bool is_pure = ir_op_effect((ir_op)i->op) == IR_FX_PURE;
    bool is_load = i->op == IR_LOAD && i->hint != IR_HINT_VOLATILE;
    return (is_pure || is_load) && i->result_count == 1 && i->operand_count <= KNOWN_OPERANDS;
}
// The value of an instruction that computes the same, or IR_NONE. `operands` are those of `i`, or
// what stands for them.
ir_ref known_find(known_table *t, const ir_inst *i, const ir_ref *operands);
// What was looked for last, and not found, is `value`.
void known_learn(known_table *t, ir_ref value);
// A store: what the next load from there sees.
void known_store(known_table *t, const ir_inst *store, const ir_ref *operands);
// Back to the first `len` entries.
void known_forget(known_table *t, uint32_t len);

// The address spaces that an instruction writes, as bits; all of them.
uint32_t known_writes_of(const ir_func *f, const ir_inst *i);
static inline uint32_t known_writes(const ir_func *f, const ir_inst *i)
{
    return ir_op_effect((ir_op)i->op) == IR_FX_PURE ? 0 : known_writes_of(f, i); // most are pure
}
extern const uint32_t known_all_spaces;
void known_written(known_table *t, uint32_t spaces);

#endif
