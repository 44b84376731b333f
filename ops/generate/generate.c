// kiln_generate: a row of generate.def and a view become one launch of kernel.c.
#include "kiln/ops.h"

#include <math.h>

#include "ops/moved.h"
#include "ops/nest.h"
#include "ops/operands.h"

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

enum { OPERAND, FIRST, SECOND, OUT, THREADS = 256 }; // views of the nest

static bool is_float(kiln_type type)
{
    return type == KILN_F16 || type == KILN_BF16 || type == KILN_F32 || type == KILN_F64;
}

static bool is_possible(const struct row *row, kiln_type type)
{
    bool is_number = is_float(type) || (type >= KILN_I8 && type <= KILN_U64);
    return row->types == FLOATS ? is_float(type)
                                : is_number || (row->types == ALL && type == KILN_BOOL);
}

// The operand with the sizes of out.
static kiln_view operand_of(const struct row *row, const kiln_generate_desc *d)
{
    kiln_view in = d->in;
    if (row->operand == NONE)
        return d->out;
    if (row->operand == INDEX)
        in = kiln_view_broadcast(kiln_view_unsqueeze(in, in.rank), d->out.rank, d->out.sizes);
    return in;
}

static kiln_status run(kiln *k, const struct row *row, const kiln_generate_desc *d,
                       bool is_in_place)
{
    kiln_type type = kiln_view_type(d->out), other = KILN_VOID;
    bool is_pair = row->indices == PAIR;
    uint32_t rank = d->out.rank;
    kiln_view operand = operand_of(row, d);
    kiln_view views[] = {
        operand, is_pair ? op_index_view(d->out, rank - 2) : op_number_view(d->out),
        is_pair ? op_index_view(d->out, rank - 1) : op_number_view(d->out), d->out};
    if (row->operand == INDEX) {
        other = kiln_view_type(operand);
        views[OPERAND].type = KILN_U8; // its elements are not packed
    }
    op_nest nest;
    op_packs packs;
    op_nest_make(views, COUNT(views), &nest);
    nest.is_of_rows = true;
    nest.widest = nest.strides[OUT][nest.rank - 1] == 1 ? 16 : 1;
    if (row->operand == INDEX && nest.strides[OPERAND][nest.rank - 1] != 0)
        nest.widest = 1;
    op_nest_pack(&nest, views, &packs);
    int64_t diagonal = d->diagonal;
    if (d->op == KILN_GENERATE_LINSPACE)
        diagonal = (int64_t)kiln_view_count(d->out) - 1;
    if (d->op == KILN_GENERATE_ONE_HOT)
        diagonal = (int64_t)d->out.sizes[rank - 1];
    op_request r = {.program = &program};
    op_set(&r, WHAT, d->op);
    op_set(&r, T, type);
    if (other)
        op_set(&r, A, other);
    op_set(&r, SAME, row->operand == SAME);
    op_set(&r, V, packs.width);
    op_set(&r, A_INNER, packs.inner[OPERAND]);
    op_set(&r, I_INNER, packs.inner[FIRST]);
    op_set(&r, J_INNER, packs.inner[SECOND]);
    op_set(&r, IN_PLACE, is_in_place);
    op_set(&r, RANK, packs.rank);
    op_set(&r, LONG, packs.is_long);
    bool is_real = is_float(type);
    const kiln_arg args[] = {
        kiln_arg_view(operand),
        kiln_arg_view(d->out),
        kiln_arg_struct(&packs.argument, sizeof packs.argument),
        is_real ? kiln_arg_f64(KILN_F64, d->alpha) : kiln_arg_i64(KILN_I64, (int64_t)d->alpha),
        is_real ? kiln_arg_f64(KILN_F64, d->beta) : kiln_arg_i64(KILN_I64, (int64_t)d->beta),
        kiln_arg_i64(KILN_I64, diagonal)};
    return op_moved_launch(k, &r, (packs.argument.packs + THREADS - 1) / THREADS, args, COUNT(args),
                           d->stream);
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
    bool has_operand = row->operand != NONE, is_in_place = false;
    const op_operand o[] = {
        {.name = "out", .view = &d->out, .is_result = true},
        {.name = "in", .view = &operand, .may_be_replaced = row->operand == SAME}};
    status = op_check_operands(k, call, o, 1 + has_operand, &is_in_place);
    if (!status && row->indices == PAIR && d->out.rank < (row->operand == INDEX ? 1 : 2))
        status = op_refuse(k, call, "'out' has %u dimensions; the op needs two", d->out.rank);
    kiln_type type = kiln_view_type(d->out), of_operand = kiln_view_type(operand);
    if (!status && !is_possible(row, type))
        status = error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: 'out' is %s, which the op lacks",
                           call, kiln_type_name(type));
    if (!status && row->operand == SAME)
        status = op_check_type(k, call, &o[1], type);
    if (!status && row->operand == INDEX && of_operand != KILN_I32 && of_operand != KILN_I64)
        status =
            error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: 'in' is %s; i32 and i64 are possible",
                      call, kiln_type_name(of_operand));
    if (!status && has_operand)
        status = op_check_sizes(k, call, &o[1], &o[0]);
    if (!status && !is_float(type) &&
        (fabs(d->alpha) > 0x1p62 || fabs(d->beta) > 0x1p62 || isnan(d->alpha) || isnan(d->beta)))
        status = op_refuse(k, call, "alpha and beta are not below 2^62 in size");
    return status || !kiln_view_count(d->out) ? status : run(k, row, d, is_in_place);
}
