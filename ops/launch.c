// From a variant and its arguments to a launch (launch.h).
#include "ops/launch.h"

static kiln_status refuse(kiln *k, const op_launch_desc *l)
{
    return error_set(k, KILN_E_LAUNCH, K6015, "%s%s%llu %s are too many for one launch",
                     l->call ? l->call : "", l->call ? ": " : "",
                     (unsigned long long)(l->units ? l->unit_count : l->blocks),
                     l->units ? l->units : "blocks");
}

kiln_status op_launch(kiln *k, const op_launch_desc *l)
{
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(k, l->request, &kernel);
    if (status)
        return status;
    if (l->blocks > INT32_MAX || l->parts > UINT16_MAX)
        return refuse(k, l);
    uint64_t blocks = l->blocks;
    if (l->is_resident && blocks) // as many rounds, each of as many blocks
        blocks = op_ceil_div(blocks, op_ceil_div(blocks, kernel->resident));
    return kiln_launch(kernel->kernel,
                       &(kiln_launch_desc){.grid = {(uint32_t)blocks, (uint32_t)l->parts},
                                           .args = l->args,
                                           .arg_count = l->arg_count,
                                           .shared_bytes = kernel->shared_bytes,
                                           .stream = l->stream,
                                           .overlaps_previous = kernel->overlaps});
}

kiln_status op_launch_blocks(kiln *k, const op_request *r, uint64_t blocks, const kiln_arg *args,
                             size_t count, kiln_stream *stream)
{
    return op_launch(
        k, &(op_launch_desc){
               .request = r, .blocks = blocks, .args = args, .arg_count = count, .stream = stream});
}

kiln_arg op_launch_view(kiln_view v, kiln_view instead, kiln_type type)
{
    return kiln_arg_view(v.buffer ? v : (kiln_view){.buffer = instead.buffer, .type = type});
}
