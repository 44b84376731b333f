// Elements that are only moved: views of any type as views of bits, for kernels that include
// kiln/moved.h.
#ifndef KILN_OP_MOVED_H
#define KILN_OP_MOVED_H

#include "ops/op.h"

// The same elements as u8, u16, u32 or u64.
kiln_view op_moved_view(kiln_view v);
// A view over nothing, whose places are numbers: of each element in row-major order, or its index
// along one dimension. For nests; `of` gives the sizes.
kiln_view op_number_view(kiln_view of);
kiln_view op_index_view(kiln_view of, uint32_t axis);

#endif
