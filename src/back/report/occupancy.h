// How many blocks of a kernel fit on one multiprocessor, and what stands in the way of more.
#ifndef KILN_OCCUPANCY_H
#define KILN_OCCUPANCY_H

#include "back/back.h"

typedef enum occupancy_limit {
    LIMIT_NONE,    // full
    LIMIT_THREADS, // the last block would not fit into the threads
    LIMIT_BLOCKS,  // too many small blocks
    LIMIT_REGISTERS,
    LIMIT_SHARED
} occupancy_limit;

typedef struct occupancy {
    uint32_t blocks;  // on one multiprocessor; 0: not even one fits
    uint32_t percent; // of the warps it can hold
    occupancy_limit limit;
} occupancy;

const char *occupancy_limit_name(occupancy_limit limit); // "registers"
// `threads` and `shared` (static and dynamic) are of one block, `registers` of one thread (0:
// unknown, counts as none).
occupancy occupancy_of(const target *t, uint32_t registers, uint32_t threads, uint64_t shared);

#endif
