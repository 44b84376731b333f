// kiln_bitwise: a row of bitwise.def and views become a map (ops/map.h).
#include "kiln/ops.h"

#include "ops/map.h"

enum { INTEGERS = TYPES_INTEGERS, ALL = TYPES_ALL & ~TYPES_FLOATS };

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
    for (uint32_t n = 0; n < row->operands; n++)
        op_map_add(&m, n ? "b" : "a",
                   kiln_view_broadcast(n ? d->b : d->a, d->out.rank, d->out.sizes), false);
    op_map_add(&m, "out", d->out, true);
    status = op_map_check(k, call, &m);
    if (!status)
        status = op_check_type_in(k, call, &m.checked[row->operands], row->types);
    for (uint32_t n = 0; n < row->operands && !status; n++)
        status = op_check_type(k, call, &m.checked[n], type);
    return status || !kiln_view_count(d->out) ? status : op_map_run(k, &m);
}
