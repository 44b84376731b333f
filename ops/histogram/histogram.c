// kiln_histogram: sets the counts to 0, then counts (kernel.c).
#include "kiln/ops.h"

#include <math.h>

#include "ops/checks.h"
#include "ops/launch.h"
#include "ops/nest.h"
#include "rt/memory/view.h"

#define AXES "ops/histogram/axes.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/histogram/kernel.c", "histogram");

enum { THREADS = 256, PER = 4, BLOCKS = 1056 };

static kiln_status launch(kiln *k, const kiln_histogram_desc *d, const op_packs *packs,
                          bool is_zero)
{
    kiln_type type = kiln_view_type(d->x);
    bool has_range = d->high > d->low;
    bool is_wide = has_range && (type == KILN_F64 || type == KILN_I32 || type == KILN_U32 ||
                                 type == KILN_I64 || type == KILN_U64);
    uint64_t bins = d->out.sizes[0];
    double scale = has_range ? (double)bins / (d->high - d->low) : 0;
    struct {
        uint64_t count;
        int64_t step;
        double low, high, scale;
    } wide = {bins, kiln_view_stride(d->out, 0), d->low, d->high, scale};
    struct {
        uint64_t count;
        int64_t step;
        float low, high, scale;
    } narrow = {bins, wide.step, (float)d->low, (float)d->high, (float)scale};
    op_request r = {.program = &program};
    op_set(&r, T, type);
    op_set(&r, OUT, kiln_view_type(d->out));
    op_set(&r, V, packs->width);
    op_set(&r, RANK, packs->rank);
    op_set(&r, GAPS, packs->inner[0] != OP_DENSE);
    op_set(&r, LONG, packs->is_long);
    op_set(&r, COPIES, bins <= 1024 ? 8 : bins <= 8192 ? 1 : 0);
    op_set(&r, RANGE, has_range);
    op_set(&r, WIDE, is_wide);
    op_set(&r, ZERO, is_zero);
    uint64_t blocks = is_zero ? bins / THREADS + 1 : packs->argument.packs / (THREADS * PER) + 1;
    const kiln_arg args[] = {kiln_arg_view(d->x), kiln_arg_view(d->out),
                             kiln_arg_struct(&packs->argument, sizeof packs->argument),
                             is_wide ? kiln_arg_struct(&wide, sizeof wide)
                                     : kiln_arg_struct(&narrow, sizeof narrow)};
    if (is_zero && blocks > INT32_MAX)
        return op_refuse(k, "kiln_histogram", "%llu bins are too many", (unsigned long long)bins);
    blocks = is_zero ? blocks : op_min(blocks, BLOCKS);
    return op_launch_blocks(k, &r, blocks, args, COUNT(args), d->stream);
}

kiln_status kiln_histogram(kiln *k, const kiln_histogram_desc *d)
{
    const char *call = "kiln_histogram";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    const op_operand o[] = {{.name = "x", .view = &d->x},
                            {.name = "out", .view = &d->out, .is_result = true}};
    status = op_check_operands(k, call, o, COUNT(o), NULL);
    if (status)
        return status;
    kiln_type type = kiln_view_type(d->x), counts = kiln_view_type(d->out);
    if (counts != KILN_I32 && counts != KILN_U32 && counts != KILN_I64 && counts != KILN_U64)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: 'out' is %s; counts are i32, u32, i64 or u64", call,
                         kiln_type_name(counts));
    status = op_check_types(k, call, &o[0], &op_types_all);
    if (status)
        return status;
    if (d->out.rank != 1)
        return op_refuse(k, call, "'out' has %u dimensions, not one", d->out.rank);
    if (!(d->low == 0 && d->high == 0) &&
        !(d->high > d->low && d->high - d->low < (double)INFINITY))
        return op_refuse(k, call, "%g to %g is no range", d->low, d->high);
    if (op_type_is_float(type) && !(d->high > d->low))
        return op_refuse(k, call, "bins of floats need a range: 'low' and 'high'");
    if (!d->out.sizes[0])
        return KILN_OK;
    op_nest nest;
    op_packs packs = {.rank = 1, .width = 1, .inner = {OP_DENSE}};
    status = launch(k, d, &packs, true);
    if (status || !kiln_view_count(d->x))
        return status;
    op_nest_make(&d->x, 1, &nest);
    if (nest.strides[0][nest.rank - 1] !=
        1) // also where x repeats one element: each one is counted
        nest.widest = 1;
    op_nest_pack(&nest, &d->x, &packs);
    return launch(k, d, &packs, false);
}
