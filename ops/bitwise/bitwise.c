// kiln_bitwise: a row of bitwise.def and views become a map (ops/map.h).
#include "kiln/ops.h"

#include "ops/map.h"
#include "ops/operands.h"

enum { INTEGERS, ALL };

static const struct row {
    uint32_t operands, types;
    const char *value;
} rows[] = {
#define ROW(name, operands, types, value, ...) {operands, types, #value},
#include "ops/bitwise/bitwise.def"
};
_Static_assert(COUNT(rows) == KILN_BITWISE_COUNT, "kiln/ops.h is stale: make op-pages");

static const uint32_t KEY = 0x62697400; // of the maps' texts, and the row; no other op has it

kiln_status kiln_bitwise(kiln *k, const kiln_bitwise_desc *d)
{
    const char *call = "kiln_bitwise";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    if ((unsigned)d->op >= COUNT(rows))
        return op_refuse(k, call, "there is no op %d", (int)d->op);
    const struct row *row = &rows[d->op];
    kiln_type type = kiln_view_type(d->out);
    op_map m = {.key = KEY + (uint32_t)d->op,
                .operands = row->operands == 1 ? "a" : "ab",
                .result_count = 1,
                .values = {row->value},
                .type = type,
                .p = 8 * (double)kiln_type_size(type),
                .stream = d->stream};
    op_operand o[3];
    for (uint32_t n = 0; n < row->operands; n++) {
        m.views[n] = kiln_view_broadcast(n ? d->b : d->a, d->out.rank, d->out.sizes);
        o[n] = (op_operand){.name = n ? "b" : "a", .view = &m.views[n], .may_be_replaced = true};
    }
    m.views[row->operands] = d->out;
    o[row->operands] = (op_operand){.name = "out", .view = &d->out, .is_result = true};
    status = op_check_operands(k, call, o, row->operands + 1, &m.is_in_place);
    if (!status && !(type >= KILN_I8 && type <= KILN_U64) &&
        !(type == KILN_BOOL && row->types == ALL))
        status = error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: 'out' is %s, which the op lacks",
                           call, kiln_type_name(type));
    for (uint32_t n = 0; n < row->operands && !status; n++)
        status = op_check_type(k, call, &o[n], type);
    return status || !kiln_view_count(d->out) ? status : op_map_run(k, &m);
}
