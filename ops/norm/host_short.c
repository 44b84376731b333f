// How short.c is launched (host_short.h).
#include "ops/norm/host_short.h"

#include "ops/checks.h"
#include "ops/launch.h"
#include "rt/memory/view.h"

#define AXES "ops/norm/axes.def"
#include "ops/axes.h"

static const op_program program = OP_PROGRAM("ops/norm/short.c", "norm_short");

// Is a column there, and not at a multiple of 16 bytes?
static bool is_between_packs(const kiln_view *v)
{
    return v->buffer && !view_is_aligned(v, 16);
}

// Sets the axes of a variant; false: there is none for these rows.
static bool plan(const op_rows_call *c, const kiln_norm_desc *d, op_request *r)
{
    enum { MANY = 1 << 20, KEPT = 16, ODD_LANES = 8, WARP = 32 };
    uint64_t columns = d->x.sizes[d->axis], each = 16 / view_element_size(&d->x);
    uint64_t packs = columns / each, lanes = 1;
    if (d->sum.buffer || d->axis + 1 != d->x.rank || kiln_view_count(d->x) < MANY ||
        !op_rows_is_dense(c))
        return false;
    bool is_whole =
        columns % each == 0 && !is_between_packs(&d->weight) && !is_between_packs(&d->bias);
    while (lanes < (is_whole ? packs : op_ceil_div(columns, KEPT)))
        lanes *= 2;
    if (is_whole ? lanes > WARP || packs * 4 < lanes * 3
                 : lanes > ODD_LANES || WARP / lanes * columns % each)
        return false;
    uint64_t per = is_whole ? 1 : op_ceil_div(columns, lanes);
    op_set(r, T, op_type_float_axis(kiln_view_type(d->x)));
    op_set(r, V, is_whole ? each : 1);
    op_set(r, LANES, lanes);
    op_set(r, PER, per);
    op_set(r, WHOLE, is_whole ? packs == lanes : columns == per * lanes);
    op_set(r, RMS, d->is_rms);
    op_set(r, WEIGHT, d->weight.buffer != NULL);
    op_set(r, BIAS, d->bias.buffer != NULL);
    op_set(r, IN_PLACE, c->is_in_place);
    return true;
}

bool norm_short(kiln *k, const op_rows_call *c, const kiln_norm_desc *d, kiln_status *status)
{
    enum { THREADS = 256, AHEAD = 2 }; // as in short.c
    op_request r = {.program = &program};
    if (!plan(c, d, &r))
        return false;
    uint64_t columns = d->x.sizes[d->axis], rows = kiln_view_count(d->x) / columns;
    uint64_t each = THREADS / op_get(&r, LANES) * (op_get(&r, V) > 1 ? AHEAD : 1);
    const kiln_arg args[] = {kiln_arg_view(d->x),
                             kiln_arg_view(d->out),
                             kiln_arg_view(d->weight.buffer ? d->weight : d->x),
                             kiln_arg_view(d->bias.buffer ? d->bias : d->x),
                             kiln_arg_i64(KILN_U32, (int64_t)columns),
                             kiln_arg_i64(KILN_U32, (int64_t)rows),
                             kiln_arg_f64(KILN_F32, d->eps),
                             kiln_arg_f64(KILN_F32, 1 / (double)columns)};
    *status = op_launch(k, &(op_launch_desc){.request = &r,
                                             .blocks = op_ceil_div(rows, each),
                                             .is_resident = true,
                                             .args = args,
                                             .arg_count = COUNT(args),
                                             .stream = d->stream});
    return true;
}
