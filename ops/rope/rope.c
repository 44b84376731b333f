// kiln_rope_forward, kiln_rope_backward and kiln_rope_tables: pairs of numbers turned by an angle.
// The numbers of a pair are two views of x; turning them is a map (ops/map.h), or where they are
// neighbours one of packs (interleaved.c).
#include "kiln/ops.h"

#include <math.h>

#include "ops/checks.h"
#include "ops/lines.h"
#include "ops/map.h"
#include "ops/moved.h"
#include "ops/walk.h"

#define AXES "ops/rope/axes.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/rope/tables.c", "rope_tables"),
                        interleaved = OP_PROGRAM("ops/rope/interleaved.c", "rope_interleaved");

static const uint32_t KEY = 0x726f7064; // of the map's texts; no other op has it, nor the next

// The first (0) or second (1) numbers of all pairs.
static kiln_view half_of(kiln_view v, uint64_t pairs, bool is_interleaved, uint32_t which)
{
    uint32_t last = v.rank - 1;
    int64_t count = (int64_t)pairs;
    return is_interleaved ? kiln_view_slice(v, last, which, 2 * count, 2)
                          : kiln_view_slice(v, last, which * count, (1 + which) * count, 1);
}

// Packs of pairs of a map: its first numbers, both tables, the results. False: numbers or tables
// are not contiguous, or rows are no whole packs. On the cpu device elements are vectors of a warp.
static bool pack_pairs(const kiln *k, const op_map *m, op_packs *packs, uint32_t *pairs)
{
    enum { A, COS, SIN, FIRST = 4, VIEWS = 4, SECOND_TABLE = 3 };
    const kiln_view views[VIEWS] = {m->views[A], m->views[2], m->views[SECOND_TABLE],
                                    m->views[FIRST]};
    kiln_type x = kiln_view_type(views[0]), table = kiln_view_type(views[COS]);
    op_nest nest;
    if (op_is_in_turn(k) || x == KILN_F64 || table == KILN_F64 ||
        table != kiln_view_type(views[SIN]))
        return false;
    op_nest_make(views, VIEWS, &nest);
    uint32_t last = nest.rank - 1;
    *pairs = 8 / (uint32_t)kiln_type_size(x);
    bool is_packed = nest.sizes[last] % *pairs == 0;
    for (uint32_t v = 0; v < VIEWS; v++) {
        bool is_table = v == COS || v == SIN;
        is_packed &= nest.strides[v][last] == (is_table ? 1 : 2) &&
                     op_nest_is_aligned(&nest, &views[v], v, last, *pairs * (is_table ? 1 : 2));
    }
    if (!is_packed)
        return false;
    op_nest_widen(&nest, *pairs);
    op_nest_cut(&nest, packs);
    return true;
}

static kiln_status run_pairs(kiln *k, const op_map *m, bool is_backward, op_packs *packs,
                             uint32_t pairs)
{
    enum { X, COS, SIN, OUT };
    int64_t(*strides)[KILN_MAX_RANK] = packs->argument.strides;
    op_turns turns;
    op_request r = {.program = &interleaved};
    op_set(&r, T, op_type_float_axis(kiln_view_type(m->views[0])));
    op_set(&r, TABLE, op_type_float_axis(kiln_view_type(m->views[2])));
    op_set(&r, V, pairs);
    op_set(&r, BOTH, 2 * pairs);
    op_set(&r, BACKWARD, is_backward);
    op_set(&r, IN_PLACE, m->is_in_place);
    op_set(&r, SAME_TABLES, !strides[COS][0] && !strides[SIN][0]);
    op_walk_set_loops(&r, packs);
    op_walk_turn_even(k, &r, packs, WALK_TURNS, strides[X][0], strides[OUT][0], &turns);
    int64_t step = (int64_t)packs->argument.sizes[0];
    const int64_t next[] = {strides[COS][0] * step, strides[SIN][0] * step};
    const kiln_arg args[] = {
        kiln_arg_view(m->views[0]),        kiln_arg_view(m->views[2]),
        kiln_arg_view(m->views[3]),        kiln_arg_view(m->views[4]),
        op_nest_arg(packs, packs->rank),   kiln_arg_struct(&turns, sizeof turns),
        kiln_arg_struct(next, sizeof next)};
    return op_walk_launch(k, &r, packs, 1, args, COUNT(args), m->stream);
}

static kiln_status run(kiln *k, const char *call, const kiln_rope_desc *d, bool is_backward)
{
    static const char *const turned[2][2] = {{"a * c - b * d", "a * d + b * c"},
                                             {"a * c + b * d", "b * c - a * d"}};
    bool is_in_place;
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    const op_operand o[] = {
        {.name = "x", .view = &d->x, .may_be_replaced = true, .types = &op_types_floats},
        {.name = "out", .view = &d->out, .is_result = true, .same = OP_SAME_TYPE | OP_SAME_SIZES},
        {.name = "cos", .view = &d->cos, .types = &op_types_floats},
        {.name = "sin", .view = &d->sin, .types = &op_types_floats}};
    status = op_check_listed(k, call, o, COUNT(o), &is_in_place);
    if (!status)
        status = op_check_sizes(k, call, &o[3], &o[2]);
    if (!status && (!d->x.rank || !d->cos.rank))
        status = op_refuse(k, call, "'x' or 'cos' has no dimension");
    if (status)
        return status;
    uint32_t last = d->x.rank - 1;
    uint64_t pairs = d->cos.sizes[d->cos.rank - 1];
    if (pairs > d->x.sizes[last] / 2)
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
    op_packs packs;
    uint32_t width;
    if (!status && pairs && kiln_view_count(d->x))
        status = d->is_interleaved && pack_pairs(k, &m, &packs, &width)
                     ? run_pairs(k, &m, is_backward, &packs, width)
                     : op_map_run(k, &m);
    if (status || is_in_place || 2 * pairs == d->x.sizes[last])
        return status;
    const int64_t end = (int64_t)(2 * pairs);
    return kiln_copy_view(
        k, &(kiln_copy_view_desc){kiln_view_slice(d->x, last, end, KILN_TO_END, 1),
                                  kiln_view_slice(d->out, last, end, KILN_TO_END, 1), d->stream});
}

kiln_status kiln_rope_forward(kiln *k, const kiln_rope_desc *d)
{
    return run(k, __func__, d, false);
}

kiln_status kiln_rope_backward(kiln *k, const kiln_rope_desc *d)
{
    return run(k, __func__, d, true);
}

kiln_status kiln_rope_tables(kiln *k, const kiln_rope_tables_desc *d)
{
    const char *call = __func__;
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    uint32_t rank = d->cos.rank;
    bool has_positions = d->positions.buffer != NULL;
    kiln_view positions = d->positions;
    if (has_positions)
        positions =
            kiln_view_broadcast(kiln_view_unsqueeze(positions, positions.rank), rank, d->cos.sizes);
    const op_operand o[] = {
        {.name = "cos", .view = &d->cos, .is_result = true, .types = &op_types_floats},
        {.name = "sin", .view = &d->sin, .is_result = true, .same = OP_SAME_TYPE | OP_SAME_SIZES},
        {.name = "positions", .view = &positions, .is_optional = true, .types = &op_types_indices}};
    status = op_check_listed(k, call, o, COUNT(o), NULL);
    if (!status && rank < (has_positions ? 1 : 2))
        status = op_refuse(k, call, "'cos' has %u dimensions: positions and pairs are two", rank);
    if (!status && !(d->base > 0 && isfinite(d->base) && isfinite(d->scale)))
        status = op_refuse(k, call, "base is not above 0, or scale is not finite");
    if (status || !kiln_view_count(d->cos))
        return status;
    const kiln_view views[] = {has_positions ? positions : op_index_view(d->cos, rank - 2),
                               op_index_view(d->cos, rank - 1), d->cos, d->sin};
    op_packs packs;
    op_walk_make(views, COUNT(views), (op_walk){.widest = 1}, &packs);
    op_request r = {.program = &program};
    op_set(&r, T, op_type_float_axis(kiln_view_type(d->cos)));
    op_set(&r, INDEX, !has_positions ? 0 : kiln_view_type(positions) == KILN_I32 ? 1 : 2);
    op_walk_set_loops(&r, &packs);
    const kiln_arg args[] = {op_launch_view(positions, d->cos, KILN_I32),
                             kiln_arg_view(d->cos),
                             kiln_arg_view(d->sin),
                             op_walk_arg(&packs),
                             kiln_arg_f64(KILN_F64, (double)d->offset),
                             kiln_arg_f64(KILN_F64, d->scale != 0 ? d->scale : 1),
                             kiln_arg_f64(KILN_F64, d->base),
                             kiln_arg_f64(KILN_F64, 2 * (double)d->cos.sizes[rank - 1])};
    return op_walk_launch(k, &r, &packs, 1, args, COUNT(args), d->stream);
}
