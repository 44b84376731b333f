// kiln_quantise and kiln_dequantise: affine numbers of eight bits, as maps (ops/map.h). Rows of
// whole packs with one scale each are quantised by kernel.c.
#include "kiln/ops.h"

#include "ops/checks.h"
#include "ops/map.h"
#include "ops/walk.h"

#define AXES "ops/quantise/axes.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/quantise/kernel.c", "quantise");

enum { X, SCALE, ZERO, OUT, VIEWS };

static const uint32_t KEY = 0x71756100; // of the maps' texts; no other op has it, nor the next 3

static bool is_float(kiln_type type)
{
    return type == KILN_F16 || type == KILN_BF16 || type == KILN_F32;
}

// x, scale, zero and out of one shape; without a zero point, scale stands in for it. False: that is
// for the map. On the cpu device the elements of a warp are a vector, and a division is one
// instruction.
static bool run_rows(kiln *k, const kiln_view *views, bool has_zero, kiln_stream *stream,
                     kiln_status *status)
{
    op_packs packs;
    op_turns turns;
    op_walk how = {.dense = 1 << X | 1 << OUT, .single = 1 << SCALE | 1 << ZERO};
    if (op_is_in_turn(k))
        return false;
    op_walk_make(views, VIEWS, how, &packs);
    if (packs.width == 1)
        return false;
    op_request r = {.program = &program};
    op_set(&r, T, op_type_float_axis(kiln_view_type(views[X])));
    op_set(&r, Q, kiln_view_type(views[OUT]) == KILN_U8);
    op_set(&r, HAS_ZERO, has_zero);
    op_walk_set(&r, &packs);
    int64_t(*strides)[KILN_MAX_RANK] = packs.argument.strides;
    op_walk_turn_even(k, &r, &packs, WALK_TURNS, strides[X][0], strides[OUT][0], &turns);
    int64_t step = (int64_t)packs.argument.sizes[0];
    const int64_t next[] = {strides[SCALE][0] * step, strides[ZERO][0] * step};
    kiln_arg args[VIEWS + 3];
    uint32_t count = 0;
    for (uint32_t v = 0; v < VIEWS; v++)
        if (v != ZERO || has_zero)
            args[count++] = kiln_arg_view(views[v]);
    args[count++] = op_nest_arg(&packs, packs.rank);
    args[count++] = kiln_arg_struct(&turns, sizeof turns);
    args[count++] = kiln_arg_struct(next, sizeof next);
    *status = op_walk_launch(k, &r, &packs, 1, args, count, stream);
    return true;
}

static kiln_status run(kiln *k, const char *call, const kiln_quantise_desc *d, bool is_back)
{
    static const char *const values[2][2] = {
        {"min(max(rint(a / b), p), q)", "min(max(rint(a / b) + (f32)c, p), q)"},
        {"(f32)a * b", "((f32)a - (f32)c) * b"}};
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    const char *floats = is_back ? "out" : "x", *bytes = is_back ? "x" : "out";
    kiln_type narrow = kiln_view_type(is_back ? d->x : d->out);
    kiln_type wide = kiln_view_type(is_back ? d->out : d->x);
    bool has_zero = d->zero.buffer != NULL;
    op_map m = {.key = KEY + 2 * (uint32_t)is_back + has_zero,
                .operands = has_zero ? "abc" : "ab",
                .result_count = 1,
                .values = {values[is_back][has_zero]},
                .type = KILN_F32,
                .p = narrow == KILN_U8 ? 0 : -128,
                .q = narrow == KILN_U8 ? 255 : 127,
                .stream = d->stream};
    m.views[0] = kiln_view_broadcast(d->x, d->out.rank, d->out.sizes);
    m.views[1] = kiln_view_broadcast(d->scale, d->out.rank, d->out.sizes);
    m.views[2] = has_zero ? kiln_view_broadcast(d->zero, d->out.rank, d->out.sizes) : d->out;
    m.views[2 + has_zero] = d->out;
    const op_operand o[] = {{.name = "x", .view = &m.views[0]},
                            {.name = "scale", .view = &m.views[1]},
                            {.name = "out", .view = &d->out, .is_result = true},
                            {.name = "zero", .view = &m.views[2]}};
    status = op_check_operands(k, call, o, 3 + has_zero, NULL);
    if (!status && narrow != KILN_I8 && narrow != KILN_U8)
        status = error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s; i8 and u8 are possible",
                           call, bytes, kiln_type_name(narrow));
    if (!status && !is_float(wide))
        status = error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                           "%s: '%s' is %s; bf16, f16 and f32 are possible", call, floats,
                           kiln_type_name(wide));
    if (!status)
        status = op_check_type(k, call, &o[1], KILN_F32);
    if (!status && has_zero)
        status = op_check_type(k, call, &o[3], narrow);
    const kiln_view views[] = {m.views[X], m.views[SCALE], m.views[has_zero ? ZERO : SCALE],
                               d->out};
    if (status || !kiln_view_count(d->out) ||
        (!is_back && run_rows(k, views, has_zero, d->stream, &status)))
        return status;
    return op_map_run(k, &m);
}

kiln_status kiln_quantise(kiln *k, const kiln_quantise_desc *d)
{
    return run(k, "kiln_quantise", d, false);
}

kiln_status kiln_dequantise(kiln *k, const kiln_quantise_desc *d)
{
    return run(k, "kiln_dequantise", d, true);
}
