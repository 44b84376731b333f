// kiln_elementwise and kiln_elementwise_backward: a row of elementwise.def and views become a map
// (ops/map.h).
#include "kiln/ops.h"

#include "ops/map.h"
#include "ops/operands.h"

enum { OPERANDS = 3, FLOATS = 1, SIGNED = 3, NUMBERS = 7, ALL = 15 }; // sets of types

static const struct row {
    const char *signature, *value, *derivatives[OPERANDS];
    uint32_t types;
} rows[] = {
#define ROW(name, signature, types, value, da, db, dc, ...)                                        \
    {#signature, #value, {#da, #db, #dc}, types},
#include "ops/elementwise/elementwise.def"
};
_Static_assert(COUNT(rows) == KILN_ELEMENTWISE_COUNT, "kiln/ops.h is stale: make bless");

static const uint32_t sets[KILN_F64 + 1] = {
    // by type; 0: no op has it
    [KILN_F16] = 1, [KILN_BF16] = 1, [KILN_F32] = 1,  [KILN_F64] = 1, [KILN_I8] = 2,
    [KILN_I16] = 2, [KILN_I32] = 2,  [KILN_I64] = 2,  [KILN_U8] = 4,  [KILN_U16] = 4,
    [KILN_U32] = 4, [KILN_U64] = 4,  [KILN_BOOL] = 8,
};

static const char *const names[] = {"a", "b", "c"}, *const gradients[] = {"da", "db", "dc"};

typedef struct job {
    const char *call;
    const struct row *row;
    op_map map;
    op_operand operands[NEST_VIEWS];
    uint32_t types; // that are possible
    uint32_t count,
        checked_types; // the views; those before this one have the row's type or are masks
} job;

static void add(job *j, const char *name, kiln_view view, bool is_result)
{
    j->map.views[j->count] = view;
    j->operands[j->count] = (op_operand){.name = name,
                                         .view = &j->map.views[j->count],
                                         .is_result = is_result,
                                         .may_be_replaced = !is_result};
    j->count++;
}

// The operands of the row, broadcast to the shape of `like`.
static kiln_status begin(kiln *k, const char *call, kiln_elementwise op, const kiln_view *in,
                         const kiln_view *like, job *j)
{
    if ((unsigned)op >= COUNT(rows))
        return op_refuse(k, call, "there is no op %d", (int)op);
    *j = (job){.call = call, .row = &rows[op], .map.key = (uint32_t)op << OPERANDS};
    j->types = j->row->types;
    for (uint32_t n = 0; j->row->signature[n] != '_'; n++)
        add(j, names[n], kiln_view_broadcast(in[n], like->rank, like->sizes), false);
    return KILN_OK;
}

static kiln_status check_types(kiln *k, job *j)
{
    uint32_t first = !strncmp(j->row->signature, "BT", 2); // a mask is of any type
    j->map.type = kiln_view_type(j->map.views[first]);
    for (uint32_t n = 0; n < j->count; n++) {
        kiln_type type = kiln_view_type(j->map.views[n]);
        bool is_any = n < first || n >= j->checked_types;
        kiln_status status =
            is_any ? KILN_OK : op_check_type(k, j->call, &j->operands[n], j->map.type);
        if (!status && !(sets[type] & (is_any ? (uint32_t)ALL : j->types)))
            status = error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s, which the op lacks",
                               j->call, j->operands[n].name, kiln_type_name(type));
        if (status)
            return status;
    }
    return KILN_OK;
}

static kiln_status finish(kiln *k, job *j)
{
    kiln_status status = op_check_operands(k, j->call, j->operands, j->count, &j->map.is_in_place);
    if (!status)
        status = check_types(k, j);
    if (status || !kiln_view_count(j->map.views[0]))
        return status;
    bool is_copy = j->row == &rows[KILN_EW_COPY] && j->count == 2 && !j->map.is_in_place &&
                   kiln_view_type(j->map.views[0]) == kiln_view_type(j->map.views[1]);
    if (is_copy) // which knows transposed views
        return kiln_copy_view(k, &(kiln_copy_view_desc){.in = j->map.views[0],
                                                        .out = j->map.views[1],
                                                        .stream = j->map.stream});
    return op_map_run(k, &j->map);
}

kiln_status kiln_elementwise_forward(kiln *k, const kiln_elementwise_desc *desc)
{
    static const char *const letters[] = {"", "a", "ab", "abc"};
    job j;
    kiln_status status = op_begin(k, "kiln_elementwise_forward", desc);
    if (!status)
        status = begin(k, "kiln_elementwise_forward", desc->op, desc->in, &desc->out, &j);
    if (status)
        return status;
    j.checked_types = j.count; // the result is of any type
    j.map.operands = letters[j.count];
    j.map.values[j.map.result_count++] = j.row->value;
    add(&j, "out", desc->out, true);
    j.map.p = desc->alpha;
    j.map.q = desc->beta;
    j.map.stream = desc->stream;
    return finish(k, &j);
}

kiln_status kiln_elementwise_backward(kiln *k, const kiln_elementwise_backward_desc *desc)
{
    static const char *const letters[] = {"", "ag", "abg", "abcg"},
                             call[] = "kiln_elementwise_backward";
    job j;
    kiln_status status = op_begin(k, call, desc);
    if (!status)
        status = begin(k, call, desc->op, desc->in, &desc->dout, &j);
    if (status)
        return status;
    uint32_t operands = j.count;
    j.map.operands = letters[operands];
    j.map.factor = "g * ";
    j.types &= FLOATS;
    add(&j, "dout", desc->dout, false);
    for (uint32_t n = 0; n < OPERANDS && !status; n++) {
        if (!desc->din[n].buffer)
            continue;
        if (n >= operands || !*j.row->derivatives[n])
            return op_refuse(k, call, "the op has no derivative by '%s'", names[n]);
        j.map.key |= (uint32_t)1 << n;
        j.map.values[j.map.result_count++] = j.row->derivatives[n];
        add(&j, gradients[n], desc->din[n], true);
        status = op_check_sizes(k, call, &j.operands[j.count - 1], &j.operands[operands]);
    }
    j.checked_types = j.count;
    j.map.p = desc->alpha;
    j.map.q = desc->beta;
    j.map.stream = desc->stream;
    return status || !j.map.result_count ? status : finish(k, &j);
}
