// kiln_rope_forward, kiln_rope_backward and kiln_rope_tables: pairs of numbers turned by an angle.
// The numbers of a pair are two views of x; turning them is a map (ops/map.h).
#include "kiln/ops.h"

#include <math.h>

#include "ops/map.h"
#include "ops/moved.h"
#include "ops/operands.h"

#define AXES "ops/rope/axes.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/rope/tables.c", "rope_tables");

enum { THREADS = 256 };
static const uint32_t KEY = 0x726f7064; // of the map's texts; no other op has it, nor the next

static bool is_float(kiln_type type)
{
    return type == KILN_F16 || type == KILN_BF16 || type == KILN_F32 || type == KILN_F64;
}

static kiln_status check_float(kiln *k, const char *call, const op_operand *o)
{
    kiln_type type = kiln_view_type(*o->view);
    return is_float(type) ? KILN_OK
                          : error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                                      "%s: '%s' is %s; bf16, f16, f32 and f64 are possible", call,
                                      o->name, kiln_type_name(type));
}

// The first (0) or second (1) numbers of all pairs.
static kiln_view half_of(kiln_view v, uint64_t pairs, bool is_interleaved, uint32_t which)
{
    uint32_t last = v.rank - 1;
    int64_t count = (int64_t)pairs;
    return is_interleaved ? kiln_view_slice(v, last, which, 2 * count, 2)
                          : kiln_view_slice(v, last, which * count, (1 + which) * count, 1);
}

static kiln_status run(kiln *k, const char *call, const kiln_rope_desc *d, bool is_backward)
{
    static const char *const turned[2][2] = {{"a * c - b * d", "a * d + b * c"},
                                             {"a * c + b * d", "b * c - a * d"}};
    bool is_in_place;
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    const op_operand o[] = {{.name = "x", .view = &d->x, .may_be_replaced = true},
                            {.name = "out", .view = &d->out, .is_result = true},
                            {.name = "cos", .view = &d->cos},
                            {.name = "sin", .view = &d->sin}};
    status = op_check_operands(k, call, o, COUNT(o), &is_in_place);
    for (uint32_t n = 0; n < COUNT(o) && !status; n++)
        status = check_float(k, call, &o[n]);
    if (!status)
        status = op_check_type(k, call, &o[1], kiln_view_type(d->x));
    if (!status)
        status = op_check_sizes(k, call, &o[1], &o[0]);
    if (!status)
        status = op_check_sizes(k, call, &o[3], &o[2]);
    if (!status && (!d->x.rank || !d->cos.rank))
        status = op_refuse(k, call, "'x' or 'cos' has no dimension");
    if (status)
        return status;
    uint32_t last = d->x.rank - 1;
    uint64_t pairs = d->cos.sizes[d->cos.rank - 1];
    if (2 * pairs > d->x.sizes[last])
        return op_refuse(k, call, "'cos' has %llu pairs, 'x' has %llu numbers",
                         (unsigned long long)pairs, (unsigned long long)d->x.sizes[last]);
    op_map m = {.key = KEY + (uint32_t)is_backward,
                .operands = "abcd",
                .result_count = 2,
                .values = {turned[is_backward][0], turned[is_backward][1]},
                .type = kiln_view_type(d->x),
                .is_in_place = is_in_place,
                .stream = d->stream};
    for (uint32_t n = 0; n < 2; n++) {
        m.views[n] = half_of(d->x, pairs, d->is_interleaved, n);
        m.views[4 + n] = half_of(d->out, pairs, d->is_interleaved, n);
        m.views[2 + n] = kiln_view_broadcast(n ? d->sin : d->cos, d->x.rank, m.views[0].sizes);
    }
    const op_operand tables[] = {{.name = "cos", .view = &m.views[2]},
                                 {.name = "sin", .view = &m.views[3]}};
    status = op_check_operands(k, call, tables, 2, NULL); // can they be broadcast?
    if (!status && pairs && kiln_view_count(d->x))
        status = op_map_run(k, &m);
    if (status || is_in_place || 2 * pairs == d->x.sizes[last])
        return status;
    kiln_copy_view_desc rest = {
        .in = kiln_view_slice(d->x, last, (int64_t)(2 * pairs), KILN_TO_END, 1),
        .out = kiln_view_slice(d->out, last, (int64_t)(2 * pairs), KILN_TO_END, 1),
        .stream = d->stream};
    return kiln_copy_view(k, &rest);
}

kiln_status kiln_rope_forward(kiln *k, const kiln_rope_desc *d)
{
    return run(k, "kiln_rope_forward", d, false);
}

kiln_status kiln_rope_backward(kiln *k, const kiln_rope_desc *d)
{
    return run(k, "kiln_rope_backward", d, true);
}

kiln_status kiln_rope_tables(kiln *k, const kiln_rope_tables_desc *d)
{
    const char *call = "kiln_rope_tables";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    uint32_t rank = d->cos.rank;
    bool has_positions = d->positions.buffer != NULL;
    kiln_view positions = d->positions;
    if (has_positions)
        positions =
            kiln_view_broadcast(kiln_view_unsqueeze(positions, positions.rank), rank, d->cos.sizes);
    const op_operand o[] = {{.name = "cos", .view = &d->cos, .is_result = true},
                            {.name = "sin", .view = &d->sin, .is_result = true},
                            {.name = "positions", .view = &positions, .is_optional = true}};
    status = op_check_operands(k, call, o, COUNT(o), NULL);
    if (!status)
        status = check_float(k, call, &o[0]);
    if (!status)
        status = op_check_type(k, call, &o[1], kiln_view_type(d->cos));
    if (!status)
        status = op_check_sizes(k, call, &o[1], &o[0]);
    kiln_type type = kiln_view_type(d->cos), of = has_positions ? kiln_view_type(positions) : 0;
    if (!status && has_positions && of != KILN_I32 && of != KILN_I64)
        status =
            error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                      "%s: 'positions' is %s; i32 and i64 are possible", call, kiln_type_name(of));
    if (!status && rank < (has_positions ? 1 : 2))
        status = op_refuse(k, call, "'cos' has %u dimensions: positions and pairs are two", rank);
    if (!status && !(d->base > 0 && isfinite(d->base) && isfinite(d->scale)))
        status = op_refuse(k, call, "base is not above 0, or scale is not finite");
    if (status || !kiln_view_count(d->cos))
        return status;
    kiln_view views[] = {positions, op_index_view(d->cos, rank - 1), d->cos, d->sin};
    if (has_positions)
        views[0].type = KILN_U8; // its elements are not packed
    else
        views[0] = op_index_view(d->cos, rank - 2);
    op_nest nest;
    op_packs packs;
    op_nest_make(views, COUNT(views), &nest);
    nest.is_of_rows = true;
    nest.widest = 1;
    op_nest_pack(&nest, views, &packs);
    op_request r = {.program = &program};
    op_set(&r, T, type == KILN_BF16 ? 0 : type == KILN_F16 ? 1 : type == KILN_F32 ? 2 : 3);
    op_set(&r, INDEX, of == KILN_I32 ? 1 : of == KILN_I64 ? 2 : 0);
    op_set(&r, RANK, packs.rank);
    op_set(&r, LONG, packs.is_long);
    kiln_view none = d->cos;
    none.type = KILN_I32;
    none.first = 0;
    const kiln_arg args[] = {kiln_arg_view(has_positions ? positions : none),
                             kiln_arg_view(d->cos),
                             kiln_arg_view(d->sin),
                             kiln_arg_struct(&packs.argument, sizeof packs.argument),
                             kiln_arg_f64(KILN_F64, (double)d->offset),
                             kiln_arg_f64(KILN_F64, d->scale != 0 ? d->scale : 1),
                             kiln_arg_f64(KILN_F64, d->base),
                             kiln_arg_f64(KILN_F64, 2 * (double)d->cos.sizes[rank - 1])};
    return op_moved_launch(k, &r, (packs.argument.packs + THREADS - 1) / THREADS, args, COUNT(args),
                           d->stream);
}
