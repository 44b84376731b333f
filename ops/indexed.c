// From the three forms of indexing to strides (indexed.h).
#include "ops/indexed.h"

#include "ops/checks.h"

// Adds a dimension of the elements. x: the one of x that it is, or NULL; index: of the index
// tensor.
static void add(op_indexed *o, const kiln_view *elements, const kiln_view *x, uint32_t x_axis,
                const kiln_view *index, uint32_t index_axis)
{
    uint32_t d = o->rank++;
    o->sizes[d] = elements->sizes[d];
    o->elements[d] = kiln_view_stride(*elements, d);
    o->is_own[d] = x != NULL;
    o->x[d] = x ? kiln_view_stride(*x, x_axis) : 0;
    o->own_sizes[d] = x ? x->sizes[x_axis] : 0;
    o->index[d] = index && index->sizes[index_axis] != 1 ? kiln_view_stride(*index, index_axis) : 0;
}

static void add_axis(op_indexed *o, const kiln_view *x, uint32_t axis)
{
    o->axis_sizes[o->axis_count] = x->sizes[axis];
    o->axis_strides[o->axis_count++] = kiln_view_stride(*x, axis);
}

// Does a dimension of the elements have that size?
static bool has_size(const kiln_view *elements, uint32_t d, uint64_t size)
{
    return d < elements->rank && elements->sizes[d] == size;
}

static bool make_elements(uint32_t axis, const kiln_view *x, const kiln_view *index,
                          const kiln_view *e, op_indexed *o)
{
    if (e->rank != x->rank || index->rank != x->rank)
        return false;
    for (uint32_t d = 0; d < x->rank; d++) {
        if ((index->sizes[d] != e->sizes[d] && index->sizes[d] != 1) ||
            (d != axis && e->sizes[d] > x->sizes[d]))
            return false;
        add(o, e, d == axis ? NULL : x, d, index, d);
    }
    add_axis(o, x, axis);
    return true;
}

static bool make_take(uint32_t axis, const kiln_view *x, const kiln_view *index, const kiln_view *e,
                      op_indexed *o)
{
    if (e->rank != x->rank - 1 + index->rank)
        return false;
    for (uint32_t d = 0; d < e->rank; d++) {
        bool is_index = d >= axis && d < axis + index->rank;
        uint32_t from = d < axis ? d : is_index ? d - axis : d - index->rank + 1;
        if (!has_size(e, d, is_index ? index->sizes[from] : x->sizes[from]))
            return false;
        add(o, e, is_index ? NULL : x, from, is_index ? index : NULL, from);
    }
    add_axis(o, x, axis);
    return true;
}

static bool make_nd(const kiln_view *x, const kiln_view *index, const kiln_view *e, op_indexed *o)
{
    uint32_t front = index->rank - 1;
    uint64_t count = index->sizes[front];
    if (!count || count > x->rank || e->rank != front + x->rank - (uint32_t)count)
        return false;
    for (uint32_t d = 0; d < e->rank; d++) {
        bool is_index = d < front;
        uint32_t from = is_index ? d : d - front + (uint32_t)count;
        if (!has_size(e, d, is_index ? index->sizes[from] : x->sizes[from]))
            return false;
        add(o, e, is_index ? NULL : x, from, is_index ? index : NULL, from);
    }
    for (uint32_t a = 0; a < count; a++)
        add_axis(o, x, a);
    o->step = kiln_view_stride(*index, front);
    return true;
}

kiln_status op_indexed_make(kiln *k, const char *call, kiln_index_form form, uint32_t axis,
                            const op_operand *x, const op_operand *index,
                            const op_operand *elements, op_indexed *out)
{
    bool is_made = false;
    *out = (op_indexed){.rank = 0};
    kiln_status status = op_check_types(k, call, index, &op_types_indices);
    if (!status && form != KILN_INDEX_ND)
        status = op_check_axis(k, call, x, axis);
    if (status)
        return status;
    if (form == KILN_INDEX_ND && !index->view->rank)
        return op_refuse(k, call, "'%s' has no dimension; its last one has the indices",
                         index->name);
    switch (form) {
    case KILN_INDEX_ELEMENTS:
        is_made = make_elements(axis, x->view, index->view, elements->view, out);
        break;
    case KILN_INDEX_TAKE:
        is_made = make_take(axis, x->view, index->view, elements->view, out);
        break;
    case KILN_INDEX_ND: is_made = make_nd(x->view, index->view, elements->view, out); break;
    default: return op_refuse(k, call, "there is no form %d", (int)form);
    }
    return is_made ? KILN_OK
                   : op_refuse(k, call, "the sizes of '%s', '%s' and '%s' do not fit the form",
                               x->name, index->name, elements->name);
}
