// kiln_elementwise_forward and kiln_elementwise_backward: a row of elementwise.def and views become
// a map (ops/map.h).
#include "kiln/ops.h"

#include "ops/map.h"

enum { OPERANDS = 3 };

static const struct row {
    const char *signature, *value, *derivatives[OPERANDS];
    uint32_t types;
} rows[] = {
#define ROW(name, signature, types, value, da, db, dc, ...)                                        \
    {#signature, #value, {#da, #db, #dc}, TYPES_##types},
#include "ops/elementwise/elementwise.def"
};
_Static_assert(COUNT(rows) == KILN_ELEMENTWISE_COUNT, "kiln/ops.h is stale: make bless");

static const char *const names[] = {"a", "b", "c"}, *const gradients[] = {"da", "db", "dc"};

// The operands of the row, broadcast to the shape of `like`.
static kiln_status begin(kiln *k, const char *call, kiln_elementwise op, const kiln_view *in,
                         const kiln_view *like, op_map *m)
{
    if ((unsigned)op >= COUNT(rows))
        return op_refuse(k, call, "there is no op %d", (int)op);
    m->key = (uint32_t)op << OPERANDS;
    for (uint32_t n = 0; rows[op].signature[n] != '_'; n++)
        op_map_add(m, names[n], kiln_view_broadcast(in[n], like->rank, like->sizes), false);
    return KILN_OK;
}

// The first `same` views have one type out of `types`; a mask before them, and the others, any.
static kiln_status finish(kiln *k, const char *call, op_map *m, uint32_t same, uint32_t types)
{
    const struct row *row = &rows[m->key >> OPERANDS];
    uint32_t first = !strncmp(row->signature, "BT", 2);
    kiln_status status = op_map_check(k, call, m);
    m->type = kiln_view_type(m->views[first]);
    for (uint32_t n = 0; n < m->count && !status; n++) {
        bool is_any = n < first || n >= same;
        if (!is_any)
            status = op_check_type(k, call, &m->checked[n], m->type);
        if (!status)
            status = op_check_type_in(k, call, &m->checked[n], is_any ? TYPES_ALL : types);
    }
    if (status || !kiln_view_count(m->views[0]))
        return status;
    bool is_copy = row == &rows[KILN_EW_COPY] && m->count == 2 && !m->is_in_place &&
                   kiln_view_type(m->views[0]) == kiln_view_type(m->views[1]);
    if (is_copy) // which knows transposed views
        return kiln_copy_view(
            k, &(kiln_copy_view_desc){.in = m->views[0], .out = m->views[1], .stream = m->stream});
    return op_map_run(k, m);
}

kiln_status kiln_elementwise_forward(kiln *k, const kiln_elementwise_desc *d)
{
    static const char *const letters[] = {"", "a", "ab", "abc"},
                             call[] = "kiln_elementwise_forward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    op_map m = {.p = d->alpha, .q = d->beta, .stream = d->stream, .result_count = 1};
    status = begin(k, call, d->op, d->in, &d->out, &m);
    if (status)
        return status;
    m.operands = letters[m.count];
    m.values[0] = rows[d->op].value;
    op_map_add(&m, "out", d->out, true);
    return finish(k, call, &m, m.count - 1, rows[d->op].types);
}

kiln_status kiln_elementwise_backward(kiln *k, const kiln_elementwise_backward_desc *d)
{
    static const char *const letters[] = {"", "ag", "abg", "abcg"},
                             call[] = "kiln_elementwise_backward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    op_map m = {.p = d->alpha, .q = d->beta, .stream = d->stream, .factor = "g * "};
    status = begin(k, call, d->op, d->in, &d->dout, &m);
    uint32_t operands = m.count;
    m.operands = letters[operands];
    op_map_add(&m, "dout", d->dout, false);
    for (uint32_t n = 0; n < OPERANDS && !status; n++) {
        if (!d->din[n].buffer)
            continue;
        if (n >= operands || !*rows[d->op].derivatives[n])
            return op_refuse(k, call, "the op has no derivative by '%s'", names[n]);
        m.key |= (uint32_t)1 << n;
        m.values[m.result_count++] = rows[d->op].derivatives[n];
        op_map_add(&m, gradients[n], d->din[n], true);
        status = op_check_sizes(k, call, &m.checked[m.count - 1], &m.checked[operands]);
    }
    if (status || !m.result_count)
        return status;
    return finish(k, call, &m, m.count, rows[d->op].types & TYPES_FLOATS);
}
