// kiln_generate: a row of generate.def and a view become one launch of kernel.c.
#include "kiln/ops.h"

#include <math.h>

#include "ops/checks.h"
#include "ops/moved.h"
#include "ops/walk.h"

enum { NONE, SAME, INDEX };    // operands
enum { LINEAR, PAIR };         // indices
enum { FLOATS, NUMBERS, ALL }; // types

static const struct row {
    uint8_t operand, indices, types;
} rows[] = {
#define ROW(name, operand, indices, types, ...) {operand, indices, types},
#include "ops/generate/generate.def"
};
_Static_assert(COUNT(rows) == KILN_GENERATE_COUNT, "kiln/ops.h is stale: make op-pages");

static const char *const values[] = {
#define ROW(name, operand, indices, types, value, ...) #value,
#include "ops/generate/generate.def"
};

#define GENERATE_ROWS .words = values, .most = COUNT(values) - 1
#define AXES          "ops/generate/axes.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/generate/kernel.c", "generate");

enum { OPERAND, FIRST, SECOND, OUT }; // views of the nest

static const uint32_t type_sets[] = {OP_FLOATS, OP_NUMBERS, OP_NUMBERS | OP_BOOLS};

// The operand with the sizes of out.
static kiln_view operand_of(const struct row *row, const kiln_generate_desc *d)
{
    if (row->operand != INDEX)
        return row->operand == NONE ? d->out : d->in;
    return kiln_view_broadcast(kiln_view_unsqueeze(d->in, d->in.rank), d->out.rank, d->out.sizes);
}

static kiln_status run(kiln *k, const struct row *row, const kiln_generate_desc *d,
                       bool is_in_place)
{
    kiln_type type = kiln_view_type(d->out);
    bool is_pair = row->indices == PAIR;
    uint32_t rank = d->out.rank;
    kiln_view operand = operand_of(row, d);
    kiln_view views[] = {
        operand, is_pair ? op_index_view(d->out, rank - 2) : op_number_view(d->out),
        is_pair ? op_index_view(d->out, rank - 1) : op_number_view(d->out), d->out};
    kiln_type other = row->operand == INDEX ? kiln_view_type(operand) : KILN_VOID;
    if (other)
        views[OPERAND].type = KILN_U8; // its elements are not packed
    op_packs packs;
    op_walk how = {.dense = 1 << OUT, .single = other ? 1 << OPERAND : 0};
    op_walk_make(views, COUNT(views), how, &packs);
    int64_t diagonal = d->op == KILN_GENERATE_LINSPACE  ? (int64_t)kiln_view_count(d->out) - 1
                       : d->op == KILN_GENERATE_ONE_HOT ? (int64_t)d->out.sizes[rank - 1]
                                                        : d->diagonal;
    op_request r = {.program = &program};
    op_set(&r, WHAT, d->op);
    op_set(&r, T, type);
    if (other)
        op_set(&r, A, other);
    op_set(&r, SAME, row->operand == SAME);
    op_walk_set(&r, &packs);
    uint32_t per = row->operand == NONE ? op_walk_per(k, &packs) : 1;
    op_set(&r, PER, per);
    op_set(&r, A_INNER, packs.inner[OPERAND]);
    op_set(&r, I_INNER, packs.inner[FIRST]);
    op_set(&r, J_INNER, packs.inner[SECOND]);
    op_set(&r, IN_PLACE, is_in_place);
    bool is_real = op_type_is_float(type);
    const kiln_arg args[] = {
        kiln_arg_view(operand),
        kiln_arg_view(d->out),
        op_walk_arg(&packs),
        is_real ? kiln_arg_f64(KILN_F64, d->alpha) : kiln_arg_i64(KILN_I64, (int64_t)d->alpha),
        is_real ? kiln_arg_f64(KILN_F64, d->beta) : kiln_arg_i64(KILN_I64, (int64_t)d->beta),
        kiln_arg_i64(KILN_I64, diagonal)};
    return op_walk_launch(k, &r, &packs, per, args, COUNT(args), d->stream);
}

kiln_status kiln_generate(kiln *k, const kiln_generate_desc *d)
{
    const char *call = "kiln_generate";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    if ((unsigned)d->op >= COUNT(rows))
        return op_refuse(k, call, "there is no op %d", (int)d->op);
    const struct row *row = &rows[d->op];
    kiln_view operand = operand_of(row, d);
    bool has_operand = row->operand != NONE, is_same = row->operand == SAME, is_in_place = false;
    const op_types types = {type_sets[row->types], ", which the op lacks"};
    const op_operand o[] = {{.name = "out", .view = &d->out, .is_result = true, .types = &types},
                            {.name = "in",
                             .view = &operand,
                             .may_be_replaced = is_same,
                             .types = is_same ? NULL : &op_types_indices,
                             .same = OP_SAME_SIZES | (is_same ? OP_SAME_TYPE : 0)}};
    status = op_check_listed(k, call, o, 1 + has_operand, &is_in_place);
    if (!status && row->indices == PAIR && d->out.rank < (row->operand == INDEX ? 1 : 2))
        status = op_refuse(k, call, "'out' has %u dimensions; the op needs two", d->out.rank);
    if (!status && !op_type_is_float(kiln_view_type(d->out)) &&
        (fabs(d->alpha) > 0x1p62 || fabs(d->beta) > 0x1p62 || isnan(d->alpha) || isnan(d->beta)))
        status = op_refuse(k, call, "alpha and beta are not below 2^62 in size");
    return status || !kiln_view_count(d->out) ? status : run(k, row, d, is_in_place);
}
