// Views as bits, and views over numbers (moved.h).
#include "ops/moved.h"

kiln_view op_moved_view(kiln_view v)
{
    size_t bytes = kiln_type_size(kiln_view_type(v));
    v.type = bytes == 1 ? KILN_U8 : bytes == 2 ? KILN_U16 : bytes == 4 ? KILN_U32 : KILN_U64;
    return v;
}

kiln_view op_number_view(kiln_view of)
{
    int64_t step = 1;
    of.type = KILN_U8;
    of.first = 0;
    of.has_strides = true;
    for (uint32_t d = of.rank; d-- > 0; step *= (int64_t)of.sizes[d])
        of.strides[d] = step;
    return of;
}

kiln_view op_index_view(kiln_view of, uint32_t axis)
{
    of = op_number_view(of);
    for (uint32_t d = 0; d < of.rank; d++)
        of.strides[d] = d == axis;
    return of;
}
