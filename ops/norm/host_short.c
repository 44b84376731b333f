// How short.c is launched (host_short.h).
#include "ops/norm/host_short.h"

#include "ops/checks.h"
#include "rt/memory/view.h"

#define AXES "ops/norm/axes.def"
#include "ops/axes.h"

static const op_program program = OP_PROGRAM("ops/norm/short.c", "norm_short");

// Is a column there, and not at a multiple of 16 bytes?
static bool is_between_packs(const kiln_view *v)
{
    return v->buffer && !view_is_aligned(v, 16);
}

bool norm_short(kiln *k, op_rows_call *c, const kiln_norm_desc *d, kiln_status *status)
{
    enum { MANY = 1 << 20, KEPT = 16, ODD_LANES = 8, WARP = 32 };
    enum { THREADS = 256, AHEAD = 2, OPERANDS = 4 }; // as in short.c; x, out, weight, bias
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
    op_request *r = &c->request;
    r->program = &program;
    op_set(r, T, op_type_float_axis(kiln_view_type(d->x)));
    op_set(r, V, is_whole ? each : 1);
    op_set(r, LANES, lanes);
    op_set(r, PER, per);
    op_set(r, WHOLE, is_whole ? packs == lanes : columns == per * lanes);
    op_set(r, RMS, d->is_rms);
    op_set(r, IN_PLACE, c->is_in_place);
    c->rows.rows = kiln_view_count(d->x) / columns;
    c->rows.blocks = op_ceil_div(c->rows.rows, THREADS / lanes * (is_whole ? AHEAD : 1));
    c->rows.takes_several = true;
    op_rows_add_operands(c, OPERANDS, NULL);
    op_rows_add(c, kiln_arg_i64(KILN_U32, (int64_t)columns));
    op_rows_add(c, kiln_arg_i64(KILN_U32, (int64_t)c->rows.rows));
    op_rows_add_f32(c, 2, (double[]){d->eps, 1 / (double)columns});
    *status = op_rows_launch(k, &c->rows, r, c->args, c->arg_count, d->stream);
    return true;
}
