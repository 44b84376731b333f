// How short.c is launched (host_short.h).
#include "ops/norm/host_short.h"

#include "rt/memory/view.h"

#define AXES "ops/norm/axes.def"
#include "ops/axes.h"

static const op_program program = OP_PROGRAM("ops/norm/short.c", "norm_short");

static bool is_at_pack(const kiln_view *v)
{
    uint64_t size = view_element_size(v);
    return !v->buffer || (v->buffer->address + v->first * size) % 16 == 0;
}

static bool is_column_dense(const kiln_view *v)
{
    return !v->buffer || kiln_view_stride(*v, 0) == 1;
}

// Sets the axes of a variant; false: there is none for these rows.
static bool plan(const kiln_norm_desc *d, op_request *r)
{
    enum { MANY = 1 << 20, KEPT = 16, ODD_LANES = 8, WARP = 32 };
    uint64_t columns = d->x.sizes[d->axis], count = kiln_view_count(d->x);
    uint64_t each = 16 / view_element_size(&d->x), packs = columns / each, lanes = 1;
    if (d->sum.buffer || d->axis + 1 != d->x.rank || count < MANY || count > INT32_MAX ||
        !kiln_view_is_dense(d->x) || !kiln_view_is_dense(d->out) || !is_at_pack(&d->x) ||
        !is_at_pack(&d->out) || !is_column_dense(&d->weight) || !is_column_dense(&d->bias))
        return false;
    bool is_whole = columns % each == 0 && is_at_pack(&d->weight) && is_at_pack(&d->bias);
    while (lanes < (is_whole ? packs : (columns + KEPT - 1) / KEPT))
        lanes *= 2;
    if (is_whole ? lanes > WARP || packs * 4 < lanes * 3
                 : lanes > ODD_LANES || WARP / lanes * columns % each)
        return false;
    uint64_t per = is_whole ? 1 : (columns + lanes - 1) / lanes;
    kiln_type type = kiln_view_type(d->x);
    op_set(r, T, type == KILN_BF16 ? 0 : type == KILN_F16 ? 1 : 2);
    op_set(r, V, is_whole ? each : 1);
    op_set(r, LANES, lanes);
    op_set(r, PER, per);
    op_set(r, WHOLE, is_whole ? packs == lanes : columns == per * lanes);
    op_set(r, RMS, d->is_rms);
    op_set(r, WEIGHT, d->weight.buffer != NULL);
    op_set(r, BIAS, d->bias.buffer != NULL);
    return true;
}

bool norm_short(kiln *k, const kiln_norm_desc *d, bool is_in_place, kiln_status *status)
{
    enum { THREADS = 256, AHEAD = 2 }; // as in short.c
    op_request r = {.program = &program};
    const op_kernel *kernel;
    if (!plan(d, &r))
        return false;
    op_set(&r, IN_PLACE, is_in_place);
    *status = op_kernel_get(k, &r, &kernel);
    if (*status)
        return true;
    uint64_t columns = d->x.sizes[d->axis], rows = kiln_view_count(d->x) / columns;
    uint64_t each = THREADS / op_get(&r, LANES) * (op_get(&r, V) > 1 ? AHEAD : 1);
    uint64_t units = (rows + each - 1) / each;
    uint64_t rounds = (units + kernel->resident - 1) / kernel->resident;
    const kiln_arg args[] = {kiln_arg_view(d->x),
                             kiln_arg_view(d->out),
                             kiln_arg_view(d->weight.buffer ? d->weight : d->x),
                             kiln_arg_view(d->bias.buffer ? d->bias : d->x),
                             kiln_arg_i64(KILN_U32, (int64_t)columns),
                             kiln_arg_i64(KILN_U32, (int64_t)rows),
                             kiln_arg_f64(KILN_F32, d->eps),
                             kiln_arg_f64(KILN_F32, 1 / (double)columns)};
    *status = kiln_launch(kernel->kernel,
                          &(kiln_launch_desc){.grid = {(uint32_t)((units + rounds - 1) / rounds)},
                                              .args = args,
                                              .arg_count = COUNT(args),
                                              .stream = d->stream,
                                              .overlaps_previous = kernel->overlaps});
    return true;
}
