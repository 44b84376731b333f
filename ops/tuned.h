// What kiln tune has found for an op (rt/tuned/tuned.h), as the op's calls look it up. A context
// reads the rows of a kind of call (kernel, types, layout …) when it first meets one, into a hash
// table by the call's sizes: a warm call asks one bit and one slot.
#ifndef KILN_OPS_TUNED_H
#define KILN_OPS_TUNED_H

#include "ops/op.h"

enum { OP_TUNED_SIZES = 6, OP_TUNED_NAME = 192 };

typedef struct op_tuned_key {
    uint32_t kind;                  // below the op's number of kinds
    uint32_t sizes[OP_TUNED_SIZES]; // the first is not 0; behind the op's own: zeros
} op_tuned_key;

typedef struct op_tuned_op {
    op_keeper keeper;
    uint32_t kinds;
    size_t kept_bytes;                                        // of what is kept for a call
    const char *sizes[OP_TUNED_SIZES];                        // their names in a row's shape: "m"
    void (*name)(uint32_t kind, char program[OP_TUNED_NAME]); // what rows call the kind
    // Reads a row's choice, "tile_m=64 tile_n=128", into what is kept, which is zeros. False: it
    // makes no sense.
    bool (*read)(const char *choice, void *kept);
} op_tuned_op;

// What was found for that call on this device, for the op to read and to mark; NULL: nothing, or
// KILN_TUNED is off. It is good until the next one is asked for.
void *op_tuned_find(kiln *k, const op_tuned_op *op, const op_tuned_key *key);
// The sizes as a row has them: "m=4096 n=64".
void op_tuned_shape(const op_tuned_op *op, const op_tuned_key *key, char shape[OP_TUNED_NAME]);
// A number of a choice; 0 where it has none. Absurd ones become one that no kernel has.
uint32_t op_tuned_number(const char *choice, const char *name);

#endif
