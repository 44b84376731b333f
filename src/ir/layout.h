// Where the arrays of a kernel lie: its shared arrays in a block's shared memory, its local arrays
// in a thread's frame. Every back end and the interpreter take their offsets from here.
#ifndef KILN_IR_LAYOUT_H
#define KILN_IR_LAYOUT_H

#include "ir/ir.h"

typedef struct ir_layout {
    bool *used;     // per array of the list: the kernel names it; the others have no place
    uint64_t *at;   // per array: its offset
    uint64_t bytes; // of all static ones, without padding behind the last
    uint64_t
        behind; // shared: where the dynamic array begins; locals: where something of 16 bytes may
    uint32_t align; // the widest of the arrays that have a place; at least `least`
} ir_layout;

static inline uint64_t ir_round_up(uint64_t n, uint64_t step)
{
    return (n + step - 1) / step * step;
}

// Arrays in the order of their declaration, each aligned to its own alignment and to `least`.
ir_layout ir_layout_shared(const ir_func *f, uint32_t least, arena *a);
ir_layout ir_layout_locals(const ir_func *f, uint32_t least, arena *a);

#endif
