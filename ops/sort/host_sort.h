// What a sort needs, for the ops that sort keys of their own.
#ifndef KILN_OP_SORT_H
#define KILN_OP_SORT_H

#include "ops/op.h"

// Bytes of the workspace of kiln_sort_forward for a row of `count` keys of that type, with their
// places.
uint64_t op_sort_room(kiln_type type, uint64_t count);

#endif
