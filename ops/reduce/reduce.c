// kiln_reduce_forward and kiln_reduce_backward: a row of reduce.def and views become a reduction
// (host_reduce.h). Backward is reductions whose results go into the workspace, then a map over the
// elements (ops/map.h).
#include "ops/reduce/host_reduce.h"

#include "ops/checks.h"
#include "ops/map.h"

enum { FLOATS = OP_FLOATS, ALL = OP_NUMBERS | OP_BOOLS, BEFORE = 2 };

static const struct row {
    uint32_t types;
    reduce_kind kind, before[BEFORE];
    const char *operands, *derivative;
} rows[] = {
#define ROW(name, types, kind, first, second, operands, derivative, what)                          \
    {types, KIND_##kind, {KIND_##first, KIND_##second}, operands, #derivative},
#include "ops/reduce/reduce.def"
};

_Static_assert(COUNT(rows) == KILN_REDUCE_LOGSUMEXP + 1, "kiln_reduction has other rows");

// A result with a dimension for each of x, of size 1 where that is reduced.
static kiln_status with_all(kiln *k, const char *call, const op_operand *o, const kiln_view *x,
                            uint32_t axes, kiln_view *out)
{
    kiln_view v = *o->view;
    bool is_right = true;
    for (uint32_t d = 0; d < x->rank && v.rank < x->rank && o->view->rank < x->rank; d++)
        if (axes >> d & 1)
            v = kiln_view_unsqueeze(v, d);
    is_right = v.rank == x->rank;
    for (uint32_t d = 0; d < x->rank && is_right; d++)
        is_right = v.sizes[d] == (axes >> d & 1 ? 1 : x->sizes[d]);
    *out = v;
    return is_right
               ? KILN_OK
               : op_refuse(k, call,
                           "'%s' has not the sizes of 'x' without the axes, or with 1 for them",
                           o->name);
}

// Checks what forward and backward have in common, and makes the job.
static kiln_status begin(kiln *k, const char *call, kiln_reduction op, const kiln_view *x,
                         uint32_t axes, double alpha, reduce_job *j)
{
    if ((unsigned)op >= COUNT(rows))
        return op_refuse(k, call, "there is no reduction %d", (int)op);
    const struct row *row = &rows[op];
    kiln_type type = kiln_view_type(*x);
    if (x->rank > KILN_MAX_RANK || (axes >> x->rank))
        return op_refuse(k, call, "axes 0x%x of 'x', which has %u dimensions", axes, x->rank);
    if (!(row->types >> type & 1))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: 'x' is %s, which the op lacks", call,
                         kiln_type_name(type));
    *j = (reduce_job){.kind = row->kind, .x = *x, .exponent = alpha, .count = 1};
    j->x.type = type;
    j->axes = axes ? axes : ((uint32_t)1 << x->rank) - 1;
    if (row->kind == KIND_norm_p) {
        if (!(alpha >= 0 && alpha < 1e6))
            return op_refuse(k, call, "a norm has no exponent %g", alpha);
        j->exponent = alpha == 0 ? 2 : alpha;
        j->kind = j->exponent == 2 ? KIND_norm_2 : alpha == 1 ? KIND_norm_1 : KIND_norm_p;
    }
    for (uint32_t d = 0; d < x->rank; d++)
        j->count *= j->axes >> d & 1 ? x->sizes[d] : 1;
    j->freedom = (double)j->count - alpha;
    return KILN_OK;
}

static kiln_status plan_forward(kiln *k, const char *call, const kiln_reduce_desc *d, reduce_job *j,
                                reduce_plan *p)
{
    const op_operand o[] = {{.name = "x", .view = &d->x},
                            {.name = "out", .view = &d->out, .is_result = true}};
    kiln_status status = op_check_operands(k, call, o, COUNT(o), NULL);
    if (!status)
        status = begin(k, call, d->op, &d->x, d->axes, d->alpha, j);
    if (!status)
        status = with_all(k, call, &o[1], &d->x, j->axes, &j->out);
    if (status)
        return status;
    j->out.type = kiln_view_type(d->out);
    j->stream = d->stream;
    *p = (reduce_plan){.bytes = 0};
    bool is_index = j->kind == KIND_argmax || j->kind == KIND_argmin;
    status = op_check_types(k, call, &o[1], is_index ? &op_types_places : &op_types_all);
    if (!status && kiln_view_count(d->out))
        reduce_plan_make(j, p);
    return status;
}

kiln_status kiln_reduce_workspace(kiln *k, const kiln_reduce_desc *d, uint64_t *bytes)
{
    reduce_job j;
    reduce_plan p;
    kiln_status status = op_begin_bytes(k, __func__, d, bytes);
    if (!status)
        status = plan_forward(k, __func__, d, &j, &p);
    if (!status)
        *bytes = p.bytes;
    return status;
}

kiln_status kiln_reduce_forward(kiln *k, const kiln_reduce_desc *d)
{
    const char *call = "kiln_reduce_forward";
    reduce_job j;
    reduce_plan p;
    kiln_view words = {.buffer = NULL};
    kiln_status status = op_begin(k, call, d);
    if (!status)
        status = plan_forward(k, call, d, &j, &p);
    if (!status)
        status = op_check_workspace(k, call, &d->workspace, p.bytes, &words);
    j.words = &words;
    return status || !kiln_view_count(d->out) ? status : reduce_run(k, &j, &p);
}

// --- backward
typedef struct back_job {
    const struct row *row;
    reduce_job before[BEFORE];
    reduce_plan plans[BEFORE];
    kiln_view views[4]; // x, out, dout, dx: all of x's sizes
    uint64_t results, offsets[BEFORE], bytes;
    double count, freedom, exponent;
    bool is_in_place;
} back_job;

static kiln_status plan_backward(kiln *k, const char *call, const kiln_reduce_backward_desc *d,
                                 back_job *b)
{
    const op_operand o[] = {{.name = "x", .view = &d->x, .may_be_replaced = true},
                            {.name = "out", .view = &d->out},
                            {.name = "dout", .view = &d->dout},
                            {.name = "dx", .view = &d->dx, .is_result = true}};
    bool is_in_place;
    reduce_job j;
    kiln_status status = op_check_operands(k, call, o, COUNT(o), &is_in_place);
    if (!status)
        status = begin(k, call, d->op, &d->x, d->axes, d->alpha, &j);
    if (status)
        return status;
    *b = (back_job){.row = &rows[d->op],
                    .is_in_place = is_in_place,
                    .results = kiln_view_count(d->out),
                    .count = (double)j.count,
                    .freedom = j.freedom,
                    .exponent = j.exponent};
    if (!*b->row->operands)
        return op_refuse(k, call, "this reduction has no derivative");
    for (uint32_t n = 0; n < COUNT(o) && !status; n++)
        status = op_check_types(k, call, &o[n], &op_types_derivable);
    if (!status)
        status = op_check_sizes(k, call, &o[3], &o[0]);
    for (uint32_t n = 1; n < 3 && !status; n++) {
        status = with_all(k, call, &o[n], &d->x, j.axes, &b->views[n]);
        j.out = b->views[n];
        b->views[n] = kiln_view_broadcast(b->views[n], d->x.rank, d->x.sizes);
    }
    b->views[0] = d->x;
    b->views[3] = d->dx;
    for (uint32_t n = 0; n < BEFORE && !status && kiln_view_count(d->x); n++) {
        if (b->row->before[n] == KIND_NONE)
            continue;
        reduce_job *before = &b->before[n];
        *before = j;
        before->kind = b->row->before[n];
        before->stream = d->stream;
        before->out.type = j.x.type == KILN_F64 ? KILN_F64 : KILN_F32;
        before->out.has_strides = false; // dense, in the workspace
        b->offsets[n] = b->bytes;
        b->bytes += (b->results * kiln_type_size(before->out.type) + 7) / 8 * 8;
        reduce_plan_make(before, &b->plans[n]);
    }
    uint64_t more = 0;
    for (uint32_t n = 0; n < BEFORE; n++)
        more = b->plans[n].bytes > more ? b->plans[n].bytes : more;
    b->bytes += more; // the reductions' own, one after the other
    return status;
}

kiln_status kiln_reduce_backward_workspace(kiln *k, const kiln_reduce_backward_desc *d,
                                           uint64_t *bytes)
{
    back_job b;
    kiln_status status = op_begin_bytes(k, __func__, d, bytes);
    if (!status)
        status = plan_backward(k, __func__, d, &b);
    if (!status)
        *bytes = b.bytes;
    return status;
}

// Runs what the derivative needs, into the workspace; b->before[n].out becomes its view.
static kiln_status run_before(kiln *k, back_job *b, const kiln_view *words)
{
    kiln_status status = KILN_OK;
    for (uint32_t n = 0; n < BEFORE && !status; n++) {
        reduce_job *before = &b->before[n];
        kiln_view own = *words;
        if (b->row->before[n] == KIND_NONE)
            continue;
        own.first += (b->bytes - b->plans[n].bytes) / 8;
        before->words = &own;
        before->out.buffer = words->buffer;
        before->out.first = words->first * 8 / kiln_type_size(before->out.type) +
                            b->offsets[n] / kiln_type_size(before->out.type);
        status = reduce_run(k, before, &b->plans[n]);
    }
    return status;
}

kiln_status kiln_reduce_backward(kiln *k, const kiln_reduce_backward_desc *d)
{
    const char *call = "kiln_reduce_backward";
    back_job b;
    kiln_view words = {.buffer = NULL};
    kiln_status status = op_begin(k, call, d);
    if (!status)
        status = plan_backward(k, call, d, &b);
    if (!status)
        status = op_check_workspace(k, call, &d->workspace, b.bytes, &words);
    if (status || !kiln_view_count(d->x))
        return status;
    status = run_before(k, &b, &words);
    kiln_type type = kiln_view_type(d->x);
    op_map m = {.key = MAP_REDUCE + (uint32_t)d->op,
                .operands = b.row->operands,
                .result_count = 1,
                .values = {b.row->derivative},
                .factor = "g * ",
                .type = type,
                .p = d->op == KILN_REDUCE_NORM ? b.exponent : b.count,
                .q = b.freedom,
                .is_in_place = b.is_in_place,
                .stream = d->stream};
    uint32_t count = 0;
    for (const char *letter = b.row->operands; *letter; letter++)
        m.views[count++] = *letter == 'a'   ? b.views[0]
                           : *letter == 'b' ? b.views[1]
                           : *letter == 'g' ? b.views[2]
                                            : kiln_view_broadcast(b.before[*letter == 'd'].out,
                                                                  d->x.rank, d->x.sizes);
    m.views[count] = b.views[3];
    return status ? status : op_map_run(k, &m);
}
