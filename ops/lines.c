// Loops over rows, and launches (lines.h).
#include "ops/lines.h"

void op_lines_make(const kiln_view *views, uint32_t count, uint32_t axis, op_lines *out)
{
    op_nest_some(views, count, ~((uint32_t)1 << axis), &out->nest);
    out->rows = 1;
    for (uint32_t d = 0; d < out->nest.rank; d++)
        out->rows *= out->nest.sizes[d];
}

kiln_status op_lines_run(kiln *k, const op_lines_launch *l)
{
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(k, l->request, &kernel);
    if (!status && l->blocks > INT32_MAX)
        return error_set(k, KILN_E_LAUNCH, K6015, "%llu rows are too many for one launch",
                         (unsigned long long)l->rows);
    return status
               ? status
               : kiln_launch(kernel->kernel,
                             &(kiln_launch_desc){.grid = {(uint32_t)l->blocks, (uint32_t)l->parts},
                                                 .args = l->args,
                                                 .arg_count = l->arg_count,
                                                 .stream = l->stream,
                                                 .overlaps_previous = kernel->overlaps});
}

kiln_arg op_lines_view(kiln_view v, kiln_view instead, kiln_type type)
{
    return kiln_arg_view(v.buffer ? v : (kiln_view){.buffer = instead.buffer, .type = type});
}
