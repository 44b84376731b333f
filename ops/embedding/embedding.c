// kiln_embedding_forward and kiln_embedding_backward: rows of a table, and the sum of their
// gradients. A gather along axis 0, and a scatter that adds.
#include "ops/operands.h"
#include "ops/scattered.h"

kiln_status kiln_embedding_forward(kiln *k, const kiln_embedding_desc *d)
{
    kiln_status status = op_begin(k, "kiln_embedding_forward", d);
    if (status)
        return status;
    return kiln_gather_forward(k, &(kiln_gather_desc){.x = d->weight,
                                                      .index = d->index,
                                                      .out = d->out,
                                                      .form = KILN_INDEX_TAKE,
                                                      .stream = d->stream});
}

static op_scatter scatter_of(const kiln_embedding_backward_desc *d)
{
    return (op_scatter){.index = &d->index,
                        .source = &d->dout,
                        .out = &d->dweight,
                        .workspace = &d->workspace,
                        .source_name = "dout",
                        .out_name = "dweight",
                        .form = KILN_INDEX_TAKE,
                        .how = KILN_SCATTER_ADD,
                        .is_from_zero = !d->is_added,
                        .has_ignored = d->has_padding,
                        .ignored = d->padding,
                        .stream = d->stream};
}

kiln_status kiln_embedding_backward_workspace(kiln *k, const kiln_embedding_backward_desc *d,
                                              uint64_t *elements)
{
    const char *call = "kiln_embedding_backward_workspace";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    op_scatter s = scatter_of(d);
    return op_scatter_workspace(k, call, &s, elements);
}

kiln_status kiln_embedding_backward(kiln *k, const kiln_embedding_backward_desc *d)
{
    const char *call = "kiln_embedding_backward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    op_scatter s = scatter_of(d);
    return op_scatter_run(k, call, &s);
}
