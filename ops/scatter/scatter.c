// kiln_scatter (ops/scattered.h).
#include "ops/scattered.h"

static op_scatter scatter_of(const kiln_scatter_desc *d)
{
    return (op_scatter){.index = &d->index,
                        .source = &d->source,
                        .out = &d->out,
                        .workspace = &d->workspace,
                        .source_name = "source",
                        .out_name = "out",
                        .form = d->form,
                        .axis = d->axis,
                        .how = d->op,
                        .stream = d->stream};
}

kiln_status kiln_scatter_workspace(kiln *k, const kiln_scatter_desc *d, uint64_t *elements)
{
    const char *call = "kiln_scatter_workspace";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    op_scatter s = scatter_of(d);
    return op_scatter_workspace(k, call, &s, elements);
}

kiln_status kiln_scatter(kiln *k, const kiln_scatter_desc *d)
{
    const char *call = "kiln_scatter";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    op_scatter s = scatter_of(d);
    return op_scatter_run(k, call, &s);
}
