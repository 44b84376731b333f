// Sorts for the ops that have keys of their own, of which they know how large they are.
#ifndef KILN_OP_SORT_H
#define KILN_OP_SORT_H

#include "kiln/ops.h"

#include "ops/op.h"

// kiln_sort_forward of a row of unsigned keys, all below 256 to the power of `digits`, with their
// places.
kiln_status op_sort_keys(kiln *k, const kiln_sort_desc *d, uint32_t digits);
// The bytes of its workspace for `count` keys of that type.
uint64_t op_sort_room(kiln_type type, uint64_t count, uint32_t digits);

#endif
