// Views as bits, and launches of many blocks (moved.h).
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

kiln_status op_moved_launch(kiln *k, const op_request *r, uint64_t blocks, const kiln_arg *args,
                            size_t count, kiln_stream *stream)
{
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(k, r, &kernel);
    if (!status && blocks > INT32_MAX)
        return error_set(k, KILN_E_LAUNCH, K6015, "%llu blocks are too many for one launch",
                         (unsigned long long)blocks);
    return status ? status
                  : kiln_launch(kernel->kernel,
                                &(kiln_launch_desc){.grid = {(uint32_t)blocks},
                                                    .args = args,
                                                    .arg_count = count,
                                                    .stream = stream,
                                                    .overlaps_previous = kernel->overlaps});
}
