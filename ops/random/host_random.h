// Launches of the random kernel, for the ops that draw.
#ifndef KILN_OP_RANDOM_H
#define KILN_OP_RANDOM_H

#include "kiln/ops.h"

#include "ops/operands.h"

enum { RANDOM_DROPOUT = KILN_RANDOM_INTEGERS + 1 }; // beside the kiln_random_kinds

typedef struct op_random {
    uint32_t kind;
    kiln_view x, out; // x: of dropout
    uint64_t seed, offset;
    double p, q;
    int64_t low; // of integers
    uint64_t range;
    bool is_in_place;
    kiln_stream *stream;
} op_random;

// The views have been checked.
kiln_status op_random_run(kiln *k, const op_random *r);

#endif
