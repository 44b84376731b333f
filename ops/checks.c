// Types, sizes and axes of operands (checks.h).
#include "ops/checks.h"

const op_types op_types_floats = {OP_FLOATS, "; bf16, f16, f32 and f64 are possible"};
const op_types op_types_indices = {OP_INDICES, "; i32 and i64 are possible"};
const op_types op_types_all = {OP_NUMBERS | OP_BOOLS, ", which the op lacks"};

bool op_type_is_float(kiln_type type)
{
    return OP_FLOATS >> type & 1;
}

uint32_t op_type_float_axis(kiln_type type)
{
    return type == KILN_BF16 ? 0 : type == KILN_F16 ? 1 : type == KILN_F32 ? 2 : 3;
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
        if (o->types && (o->view->buffer || !o->is_optional))
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
