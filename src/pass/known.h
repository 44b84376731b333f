// What has been computed here: a table of pure results and loads for a walk in reading order.
// Leaving a region takes back what was learned inside (dominance is nesting). Loads join in with
// the age of their memory: every write makes a space newer, so a load finds an older one only when
// nothing was written between.
#ifndef KILN_PASS_KNOWN_H
#define KILN_PASS_KNOWN_H

#include "ir/ir.h"

enum { KNOWN_SPACES = IR_TYPE_COUNT, KNOWN_OPERANDS = 3 };

typedef struct known_entry {
    uint32_t hash;
    uint16_t op;
    uint8_t type, count;
    uint32_t aux, age;
    int64_t imm;
    ir_ref operands[KNOWN_OPERANDS];
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
bool known_can_be(const ir_inst *i);
// What to find it by, or to learn; until the next one is asked for. `operands` are those of `i`, or
// what stands for them.
known_entry *known_key(known_table *t, const ir_inst *i, const ir_ref *operands);
// The value, or IR_NONE.
ir_ref known_find(const known_table *t, const known_entry *key);
void known_learn(known_table *t, known_entry *key, ir_ref value);
// A store: what the next load from there sees.
void known_store(known_table *t, const ir_inst *store, const ir_ref *operands);
// Back to the first `len` entries.
void known_forget(known_table *t, uint32_t len);

// The address spaces that an instruction writes, as bits; all of them.
uint32_t known_writes(const ir_func *f, const ir_inst *i);
extern const uint32_t known_all_spaces;
void known_written(known_table *t, uint32_t spaces);

#endif
