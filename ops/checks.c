// Types, sizes and axes of operands (checks.h).
#include "ops/checks.h"

const op_types op_types_floats = {OP_FLOATS, "; bf16, f16, f32 and f64 are possible"};
const op_types op_types_f32 = {1 << KILN_F32, ", not f32"};
const op_types op_types_indices = {OP_INDICES, "; i32 and i64 are possible"};
const op_types op_types_derivable = {OP_FLOATS, ", not a float"};
const op_types op_types_places = {OP_INDICES, "; indices are i32 or i64"};
const op_types op_types_all = {OP_NUMBERS | OP_BOOLS, ", which the op lacks"};

bool op_type_is_float(kiln_type type)
{
    return OP_FLOATS >> type & 1;
}

uint32_t op_type_float_axis(kiln_type type)
{
    return type == KILN_BF16 ? 0 : type == KILN_F16 ? 1 : type == KILN_F32 ? 2 : 3;
}

kiln_type op_type_of_sums(kiln_type type)
{
    if (op_type_is_float(type))
        return type == KILN_F64 ? KILN_F64 : KILN_F32;
    return op_type_set(type) & TYPES_SIGNED ? KILN_I64 : KILN_U64;
}

kiln_status op_check_types(kiln *k, const char *call, const op_operand *o, const op_types *types)
{
    kiln_type type = kiln_view_type(*o->view);
    return types->set >> type & 1
               ? KILN_OK
               : error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s%s", call, o->name,
                           kiln_type_name(type), types->otherwise);
}

kiln_status op_check_listed(kiln *k, const char *call, const op_operand *operands, size_t count,
                            bool *is_in_place)
{
    kiln_status status = op_check_operands(k, call, operands, count, is_in_place);
    for (const op_operand *o = operands; o < operands + count && !status; o++)
        if (o->types && op_operand_is_there(o))
            status = op_check_types(k, call, o, o->types);
    for (const op_operand *o = operands; o < operands + count && !status; o++) {
        if (o->same & OP_SAME_TYPE)
            status = op_check_type(k, call, o, kiln_view_type(*operands->view));
        if (!status && o->same & OP_SAME_SIZES)
            status = op_check_sizes(k, call, o, operands);
    }
    return status;
}

kiln_status op_check_axis(kiln *k, const char *call, const op_operand *o, uint32_t axis)
{
    return axis < o->view->rank ? KILN_OK
                                : op_refuse(k, call, "axis %u of '%s', which has %u dimensions",
                                            axis, o->name, o->view->rank);
}

kiln_status op_check_column(kiln *k, const char *call, const op_operand *o, uint64_t size)
{
    const kiln_view *v = o->view;
    if (!op_operand_is_there(o) || (v->rank == 1 && v->sizes[0] == size))
        return KILN_OK;
    return op_refuse(k, call, "'%s' is not one dimension of %llu", o->name,
                     (unsigned long long)size);
}

static bool is_without_axis(const kiln_view *v, const kiln_view *x, uint32_t axis)
{
    bool all = v->rank + 1 == x->rank;
    for (uint32_t n = 0; n < v->rank && all; n++)
        all = v->sizes[n] == x->sizes[n + (n >= axis)];
    return all;
}

static kiln_status check_of_rows(kiln *k, const char *call, const op_operand *o,
                                 const op_operand *x, uint32_t axis)
{
    if (o->is_column)
        return op_check_column(k, call, o, x->view->sizes[axis]);
    if (o->same & OP_ONE_ELEMENT && kiln_view_count(*o->view) != 1)
        return op_refuse(k, call, "'%s' is not one element", o->name);
    if (o->same & OP_WITHOUT_AXIS && !is_without_axis(o->view, x->view, axis))
        return op_refuse(k, call, "'%s' has not the sizes of '%s' without axis %u", o->name,
                         x->name, axis);
    return KILN_OK;
}

kiln_status op_check_rows(kiln *k, const char *call, const op_operand *operands, size_t count,
                          uint32_t axis, bool *is_in_place)
{
    kiln_status status = op_check_listed(k, call, operands, count, is_in_place);
    if (!status)
        status = op_check_axis(k, call, operands, axis);
    for (const op_operand *o = operands; o < operands + count && !status; o++)
        if (op_operand_is_there(o))
            status = check_of_rows(k, call, o, operands, axis);
    return status;
}
