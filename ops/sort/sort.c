// kiln_sort_forward, kiln_topk_forward and kiln_sort_backward (ops/sorting.h).
#include "kiln/ops.h"

#include "ops/checks.h"
#include "ops/sorting.h"

static kiln_status check_index(kiln *k, const char *call, const kiln_view *index, uint64_t size)
{
    if (size > (index->buffer && kiln_view_type(*index) == KILN_I32 ? INT32_MAX : UINT32_MAX))
        return op_refuse(k, call, "%llu elements of a row are too many for their indices",
                         (unsigned long long)size);
    return KILN_OK;
}

// The sizes of x, but of any size up to its own along the axis.
static kiln_status check_result(kiln *k, const char *call, const op_operand *o, const kiln_view *x,
                                uint32_t axis)
{
    const kiln_view *v = o->view;
    bool is_right = v->rank == x->rank && v->sizes[axis] <= x->sizes[axis];
    for (uint32_t n = 0; n < x->rank && is_right; n++)
        is_right = n == axis || v->sizes[n] == x->sizes[n];
    return is_right || !v->buffer
               ? KILN_OK
               : op_refuse(k, call, "'%s' has not the sizes of 'x', or fewer along axis %u",
                           o->name, axis);
}

static kiln_status check(kiln *k, const char *call, op_sorting *j, bool is_whole)
{
    const kiln_sort_desc *d = &j->d;
    const op_operand o[] = {
        {"x", &d->x, .types = &op_types_all},
        {"out", &d->out, .is_result = true, .is_optional = true, .same = OP_SAME_TYPE},
        {"index", &d->index, .is_result = true, .is_optional = true, .types = &op_types_places},
        {"values", &d->values, .is_optional = true},
        {"values_out", &d->values_out, .is_result = true, .is_optional = true}};
    kiln_status status = op_check_rows(k, call, o, COUNT(o), d->axis, NULL);
    for (uint32_t n = 1; n < COUNT(o) && !status; n++)
        status = check_result(k, call, &o[n], &d->x, d->axis);
    if (!status && !d->values.buffer != !d->values_out.buffer)
        return op_refuse(k, call, "'values' and 'values_out' belong together");
    if (!status && d->values.buffer)
        status = op_check_type(k, call, &o[4], kiln_view_type(d->values));
    if (!status && !d->out.buffer && !d->index.buffer && !d->values_out.buffer)
        return op_refuse(k, call, "there is no result: 'out', 'index' or 'values_out'");
    if (!status)
        status = check_index(k, call, &d->index, d->x.sizes[d->axis]);
    const kiln_view *like = d->out.buffer ? &d->out : d->index.buffer ? &d->index : &d->values_out;
    if (status)
        return status;
    j->row.results = like->sizes[d->axis];
    for (uint32_t n = 1; n < COUNT(o); n++) {
        uint64_t wanted = n == 3 ? d->x.sizes[d->axis] : j->row.results;
        if (o[n].view->buffer && o[n].view->sizes[d->axis] != wanted)
            return op_refuse(k, call, "'%s' has another size along axis %u", o[n].name, d->axis);
    }
    if (is_whole && j->row.results != d->x.sizes[d->axis])
        return op_refuse(k, call, "the results have fewer elements along axis %u than 'x'",
                         d->axis);
    op_sorting_make(j);
    return KILN_OK;
}

// bytes: where only those of the workspace are asked for. is_whole: no top-k.
static kiln_status sort(kiln *k, const char *call, const kiln_sort_desc *d, bool is_whole,
                        uint64_t *bytes)
{
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    op_sorting j = {.d = *d};
    status = check(k, call, &j, is_whole);
    if (bytes && !status)
        *bytes = op_sorting_bytes(&j);
    return status || bytes ? status : op_sorting_run(k, call, &j);
}

static kiln_status topk(kiln *k, const char *call, const kiln_topk_desc *d, uint64_t *bytes)
{
    return sort(k, call,
                !d ? NULL
                   : &(kiln_sort_desc){.x = d->x,
                                       .out = d->out,
                                       .index = d->index,
                                       .axis = d->axis,
                                       .is_descending = !d->is_smallest,
                                       .workspace = d->workspace,
                                       .stream = d->stream},
                false, bytes);
}

kiln_status kiln_sort_forward(kiln *k, const kiln_sort_desc *d)
{
    return sort(k, __func__, d, true, NULL);
}

kiln_status kiln_sort_workspace(kiln *k, const kiln_sort_desc *d, uint64_t *bytes)
{
    return sort(k, __func__, d, true, bytes ? bytes : &(uint64_t){0});
}

kiln_status kiln_topk_forward(kiln *k, const kiln_topk_desc *d)
{
    return topk(k, __func__, d, NULL);
}

kiln_status kiln_topk_workspace(kiln *k, const kiln_topk_desc *d, uint64_t *bytes)
{
    return topk(k, __func__, d, bytes ? bytes : &(uint64_t){0});
}

kiln_status kiln_sort_backward(kiln *k, const kiln_sort_backward_desc *d)
{
    const char *call = __func__;
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    const op_operand o[] = {
        {.name = "dout", .view = &d->dout},
        {"index", &d->index, .types = &op_types_places, .same = OP_SAME_SIZES},
        {"dx", &d->dx, .is_result = true, .types = &op_types_derivable, .same = OP_SAME_TYPE}};
    status = op_check_listed(k, call, o, COUNT(o), NULL);
    if (!status)
        status = op_check_axis(k, call, &o[2], d->axis);
    if (!status)
        status = check_result(k, call, &o[0], &d->dx, d->axis);
    if (!status)
        status = check_index(k, call, &d->index, d->dx.sizes[d->axis]);
    if (status || !kiln_view_count(d->dx))
        return status;
    op_sorting j = {.d = {d->dx, d->dout, d->index, .axis = d->axis, .stream = d->stream},
                    .row.results = d->dout.sizes[d->axis]};
    op_sorting_make(&j);
    return op_sorting_run_backward(k, &j);
}
