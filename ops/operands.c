// Checks of the operands that an op is given (operands.h).
#include "ops/operands.h"

#include "kiln/ops.h"

#include <stdarg.h>
#include <stdio.h>

#include "rt/memory/view.h"

kiln_status op_refuse(kiln *k, const char *call, const char *format, ...)
{
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "%s: %s", call, why);
}

kiln_status op_begin(kiln *k, const char *call, const void *desc)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    return desc ? KILN_OK : op_refuse(k, call, "the description is NULL");
}

kiln_status op_begin_bytes(kiln *k, const char *call, const void *desc, const uint64_t *bytes)
{
    kiln_status status = op_begin(k, call, desc);
    return status || bytes ? status : op_refuse(k, call, "'bytes' is NULL");
}

// The same elements in the same order?
static bool is_same(const kiln_view *a, const kiln_view *b)
{
    int64_t x[KILN_MAX_RANK], y[KILN_MAX_RANK];
    if (a->buffer != b->buffer || a->first != b->first || a->rank != b->rank ||
        kiln_view_type(*a) != kiln_view_type(*b))
        return false;
    view_strides(a, x);
    view_strides(b, y);
    for (uint32_t n = 0; n < a->rank; n++)
        if (a->sizes[n] != b->sizes[n] || (a->sizes[n] > 1 && x[n] != y[n]))
            return false;
    return true;
}

kiln_status op_check_operands(kiln *k, const char *call, const op_operand *operands, size_t count,
                              bool *is_in_place)
{
    kiln_status status = KILN_OK;
    if (is_in_place)
        *is_in_place = false;
    for (size_t n = 0; n < count && !status; n++)
        if (op_operand_is_there(&operands[n]))
            status = (operands[n].is_result ? view_check_written : view_check)(
                k, operands[n].view, call, operands[n].name);
    for (size_t n = 0; n < count && !status; n++)
        for (size_t other = 0; other < count && operands[n].is_result && !status; other++) {
            const op_operand *r = &operands[n], *o = &operands[other];
            if (n == other || (o->is_result && other > n) || !op_operand_is_there(r) ||
                !op_operand_is_there(o))
                continue;
            if (o->may_be_replaced && is_same(o->view, r->view)) {
                if (is_in_place)
                    *is_in_place = true;
            } else if (kiln_view_overlaps(*r->view, *o->view)) {
                status = op_refuse(k, call, "'%s' overlaps '%s'%s", r->name, o->name,
                                   o->may_be_replaced ? "; in place they are the same view" : "");
            }
        }
    return status;
}

kiln_status op_check_type(kiln *k, const char *call, const op_operand *o, kiln_type type)
{
    kiln_type got = kiln_view_type(*o->view);
    if (!op_operand_is_there(o) || got == type)
        return KILN_OK;
    return error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s, not %s", call, o->name,
                     kiln_type_name(got), kiln_type_name(type));
}

kiln_status op_check_sizes(kiln *k, const char *call, const op_operand *o, const op_operand *like)
{
    char got[VIEW_TEXT], want[VIEW_TEXT];
    if (!op_operand_is_there(o) ||
        (o->view->rank == like->view->rank &&
         !memcmp(o->view->sizes, like->view->sizes, o->view->rank * sizeof *o->view->sizes)))
        return KILN_OK;
    return op_refuse(k, call, "'%s' is %s, and '%s' is %s", o->name, view_shape_text(o->view, got),
                     like->name, view_shape_text(like->view, want));
}

uint32_t op_type_set(kiln_type type)
{
    static const uint32_t sets[KILN_F64 + 1] = {
        [KILN_F16] = 1, [KILN_BF16] = 1, [KILN_F32] = 1,  [KILN_F64] = 1, [KILN_I8] = 2,
        [KILN_I16] = 2, [KILN_I32] = 2,  [KILN_I64] = 2,  [KILN_U8] = 4,  [KILN_U16] = 4,
        [KILN_U32] = 4, [KILN_U64] = 4,  [KILN_BOOL] = 8,
    };
    return sets[type];
}

kiln_status op_check_type_in(kiln *k, const char *call, const op_operand *o, uint32_t set)
{
    kiln_type type = kiln_view_type(*o->view);
    if (op_type_set(type) & set)
        return KILN_OK;
    return error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s, which the op lacks", call,
                     o->name, kiln_type_name(type));
}

kiln_status op_check_room(kiln *k, const char *call, const op_operand *o, kiln_type type,
                          uint64_t rows, uint32_t each)
{
    if (!rows)
        return KILN_OK;
    kiln_status status = op_check_operands(k, call, o, 1, NULL);
    if (!status)
        status = op_check_type(k, call, o, type);
    if (!status && (kiln_view_count(*o->view) < each * rows || !kiln_view_is_dense(*o->view)))
        status = op_refuse(k, call, "'%s' has not %u numbers for each of %llu rows", o->name, each,
                           (unsigned long long)rows);
    return status;
}

kiln_status op_check_workspace(kiln *k, const char *call, const kiln_view *v, uint64_t bytes,
                               kiln_view *words)
{
    if (!bytes)
        return KILN_OK;
    const op_operand o = {.name = "workspace", .view = v, .is_result = true};
    kiln_status status = op_check_operands(k, call, &o, 1, NULL);
    if (status)
        return status;
    uint64_t size = view_element_size(v), first = v->first * size;
    if (kiln_view_count(*v) * size < bytes || !kiln_view_is_dense(*v))
        return op_refuse(k, call, "'workspace' is not %llu dense bytes", (unsigned long long)bytes);
    if (first % 8)
        return op_refuse(k, call, "'workspace' does not start at a multiple of 8 bytes");
    *words = (kiln_view){
        .buffer = v->buffer, .first = first / 8, .type = KILN_U64, .rank = 1, .sizes = {bytes / 8}};
    return KILN_OK;
}

kiln_status op_set_zero(kiln *k, kiln_view v, kiln_stream *stream)
{
    // No number is less than itself.
    kiln_elementwise_desc desc = {.op = KILN_EW_LESS, .in = {v, v}, .out = v, .stream = stream};
    return v.buffer && kiln_view_count(v) ? kiln_elementwise_forward(k, &desc) : KILN_OK;
}
