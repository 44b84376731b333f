// Views as bits, and launches of many blocks (moved.h).
#include "ops/moved.h"

kiln_view op_moved_view(kiln_view v)
{
    size_t bytes = kiln_type_size(kiln_view_type(v));
    v.type = bytes == 1 ? KILN_U8 : bytes == 2 ? KILN_U16 : bytes == 4 ? KILN_U32 : KILN_U64;
    return v;
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
                  : kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {(uint32_t)blocks},
                                                                    .args = args,
                                                                    .arg_count = count,
                                                                    .stream = stream});
}
