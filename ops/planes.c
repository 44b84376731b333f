// The launches of batch norm and group norm (planes.h, ops/group_norm/planes.c). Start reading at
// op_planes_run, the last function.
#include "ops/planes.h"

#include "ops/launch.h"
#include "ops/moved.h"
#include "ops/rows.h"

#define AXES "ops/group_norm/axes.def"
#include "ops/axes.h"
static const op_program planes = OP_PROGRAM("ops/group_norm/planes.c", "planes"),
                        combine = OP_PROGRAM("ops/group_norm/combine.c", "combine"),
                        plane_sums = OP_PROGRAM("ops/group_norm/sums.c", "plane_sums");

enum { STATISTICS, APPLY, SUMS, GRADIENT };
enum { X, DOUT, OUT, UNIT, ITEM, CHANNEL, VIEWS, WARPS = 8 };

typedef struct planes_argument { // `struct planes` of planes.c
    uint32_t group_channels;
    int64_t weight_step, bias_step, mean_step, scale_step;
    float columns;
} planes_argument;

typedef struct combine_argument { // `struct combine` of combine.c
    uint64_t groups, planes, inner, outer, first;
    float columns, eps, momentum;
    int64_t running_mean_step, running_variance_step, mean_step, scale_step;
} combine_argument;

typedef struct sums_argument { // `struct sums` of sums.c
    uint64_t results, planes, inner, outer, first, channel_planes, channels;
    float columns;
    int64_t weight_step, bias_step;
    uint32_t is_eval;
} sums_argument;

typedef struct job {
    const op_planes *p;
    kiln_type type;
    bool is_in_place;
    kiln_view views[VIEWS];
    uint64_t items, channels, lines; // lines: planes of a channel of an item
    uint64_t groups, group_channels;
    op_rows rows;
    kiln_arg nest;  // of the rows
    kiln_view sums; // of the groups, behind the planes' in the workspace
} job;

// Are the dimensions from 2 on one in memory?
static bool is_one(const kiln_view *v)
{
    for (uint32_t d = 2; d + 1 < v->rank; d++)
        if (kiln_view_stride(*v, d) != kiln_view_stride(*v, d + 1) * (int64_t)v->sizes[d + 1])
            return false;
    return true;
}

// Those dimensions as one.
static kiln_view merged(kiln_view v)
{
    int64_t strides[] = {kiln_view_stride(v, 0), kiln_view_stride(v, 1),
                         kiln_view_stride(v, v.rank - 1)};
    for (; v.rank > 3; v.rank--)
        v.sizes[v.rank - 2] *= v.sizes[v.rank - 1];
    v.has_strides = true;
    memcpy(v.strides, strides, sizeof strides);
    return v;
}

// A view over nothing whose places are 16 times a number: step for each index of dimension n.
static kiln_view number_view(kiln_view of, const int64_t *steps)
{
    of.type = KILN_U8;
    of.has_strides = true;
    for (uint32_t d = 0; d < of.rank; d++)
        of.strides[d] = d + 1 == of.rank ? 1 : 16 * steps[d];
    return of;
}

static void make_views(job *j)
{
    const op_planes *p = j->p;
    kiln_view *v = j->views;
    v[X] = p->x;
    v[DOUT] = p->is_backward ? p->dout : p->x;
    v[OUT] = p->out;
    for (uint32_t n = X; n <= OUT && p->x.rank == 2; n++)
        v[n] = kiln_view_unsqueeze(v[n], 2);
    if (v[X].rank > 3 && is_one(&v[X]) && is_one(&v[DOUT]) && is_one(&v[OUT]))
        for (uint32_t n = X; n <= OUT; n++)
            v[n] = merged(v[n]);
    int64_t unit[KILN_MAX_RANK] = {0}, item[KILN_MAX_RANK] = {0}, channel[KILN_MAX_RANK] = {0, 1};
    int64_t step = 1;
    for (uint32_t d = v[X].rank - 1; d-- > 0; step *= (int64_t)v[X].sizes[d])
        unit[d] = step;
    j->items = v[X].sizes[0];
    j->channels = v[X].sizes[1];
    j->lines = (uint64_t)unit[1];
    item[0] = p->is_batch ? 0 : (int64_t)p->groups;
    j->group_channels = p->is_batch ? 1 : j->channels / p->groups;
    j->groups = p->is_batch ? j->channels : j->items * p->groups;
    v[UNIT] = number_view(v[X], unit);
    v[ITEM] = number_view(v[X], item);
    v[CHANNEL] = number_view(v[X], channel);
    op_rows_make(v, VIEWS, v[X].rank - 1, 4, 2, false, &j->rows);
    j->nest = op_nest_arg(&j->rows.packs, j->rows.packs.rank);
    j->sums = p->workspace;
    j->sums.first += 2 * j->rows.rows;
}

// What is not there: something that is.
static kiln_arg or_else(kiln_view v, kiln_view other)
{
    return kiln_arg_view(v.buffer ? v : other);
}

static int64_t step_of(kiln_view v)
{
    return v.buffer ? kiln_view_stride(v, 0) : 0;
}

static kiln_status run_planes(kiln *k, const job *j, uint32_t pass)
{
    const op_planes *p = j->p;
    op_request r = {.program = &planes};
    op_rows_set(&j->rows, j->type, j->is_in_place, &r);
    op_set(&r, PASS, pass);
    op_set(&r, WEIGHT, p->weight.buffer != NULL);
    op_set(&r, BIAS, p->bias.buffer != NULL);
    planes_argument a = {
        (uint32_t)j->group_channels, step_of(p->weight),    step_of(p->bias), step_of(p->mean),
        step_of(p->scale),           (float)j->rows.columns};
    const kiln_arg args[] = {kiln_arg_view(j->views[X]),   kiln_arg_view(j->views[DOUT]),
                             kiln_arg_view(j->views[OUT]), or_else(p->weight, p->x),
                             or_else(p->bias, p->x),       kiln_arg_view(p->workspace),
                             kiln_arg_view(p->mean),       kiln_arg_view(p->scale),
                             kiln_arg_view(j->sums),       j->nest,
                             kiln_arg_struct(&a, sizeof a)};
    return op_rows_launch(k, &j->rows, &r, args, COUNT(args), p->stream);
}

static kiln_status run_combine(kiln *k, const job *j)
{
    const op_planes *p = j->p;
    bool has_running = p->running_mean.buffer != NULL;
    op_request r = {.program = &combine};
    op_set(&r, T, 2);
    op_set(&r, RUNNING, has_running && !p->is_eval);
    op_set(&r, EVAL, p->is_eval);
    uint64_t together = j->group_channels * j->lines;
    combine_argument a = {.groups = j->groups,
                          .planes = p->is_batch ? j->items * j->lines : together,
                          .inner = together,
                          .outer = j->channels * j->lines,
                          .first = together,
                          .columns = (float)j->rows.columns,
                          .eps = (float)p->eps,
                          .momentum = (float)p->momentum,
                          .running_mean_step = step_of(p->running_mean),
                          .running_variance_step = step_of(p->running_variance),
                          .mean_step = step_of(p->mean),
                          .scale_step = step_of(p->scale)};
    const kiln_arg args[] = {kiln_arg_view(p->workspace),
                             kiln_arg_view(p->mean),
                             kiln_arg_view(p->scale),
                             or_else(p->running_mean, p->mean),
                             or_else(p->running_variance, p->mean),
                             kiln_arg_struct(&a, sizeof a)};
    return op_launch_blocks(k, &r, (j->groups + WARPS - 1) / WARPS, args, COUNT(args), p->stream);
}

static kiln_status run_sums(kiln *k, const job *j, bool is_channels)
{
    const op_planes *p = j->p;
    kiln_view weight = is_channels ? p->dweight : p->weight;
    kiln_view bias = is_channels ? p->dbias : p->weight;
    bool is_across = is_channels || p->is_batch; // a channel of all items
    uint64_t together = (is_across ? 1 : j->group_channels) * j->lines;
    op_request r = {.program = &plane_sums};
    op_set(&r, T, j->type == KILN_BF16 ? 0 : j->type == KILN_F16 ? 1 : 2);
    op_set(&r, WEIGHT, weight.buffer != NULL);
    op_set(&r, BIAS, bias.buffer != NULL);
    op_set(&r, CHANNELS, is_channels);
    sums_argument a = {.results = is_channels ? j->channels : j->groups,
                       .planes = is_across ? j->items * j->lines : together,
                       .inner = together,
                       .outer = j->channels * j->lines,
                       .first = together,
                       .channel_planes = j->lines,
                       .channels = j->channels,
                       .columns = (float)j->rows.columns,
                       .weight_step = step_of(weight),
                       .bias_step = step_of(bias),
                       .is_eval = p->is_eval};
    kiln_view none = {.buffer = NULL};
    const kiln_arg args[] = {kiln_arg_view(p->workspace),
                             or_else(is_channels ? none : weight, p->x),
                             op_launch_view(is_channels ? weight : none, p->workspace, j->type),
                             op_launch_view(is_channels ? bias : none, p->workspace, j->type),
                             kiln_arg_view(j->sums),
                             kiln_arg_struct(&a, sizeof a)};
    return op_launch_blocks(k, &r, (a.results + WARPS - 1) / WARPS, args, COUNT(args), p->stream);
}

// --- checks
static kiln_status check_line(kiln *k, const op_planes *p, const op_operand *o, kiln_type type,
                              uint64_t size)
{
    if (!o->view->buffer)
        return KILN_OK;
    kiln_status status = op_check_type(k, p->call, o, type);
    return status || (o->view->rank == 1 && o->view->sizes[0] == size)
               ? status
               : op_refuse(k, p->call, "'%s' is not one dimension of %llu", o->name,
                           (unsigned long long)size);
}

static kiln_status check(kiln *k, const op_planes *p, job *j)
{
    bool is_b = p->is_backward;
    const op_operand o[] = {
        {.name = "x", .view = &p->x, .may_be_replaced = !is_b},
        {.name = is_b ? "dx" : "out", .view = &p->out, .is_result = true},
        {.name = "dout", .view = &p->dout, .is_optional = !is_b},
        {.name = "weight", .view = &p->weight, .is_optional = true},
        {.name = "bias", .view = &p->bias, .is_optional = true},
        {.name = "dweight", .view = &p->dweight, .is_result = true, .is_optional = true},
        {.name = "dbias", .view = &p->dbias, .is_result = true, .is_optional = true},
        {.name = "running_mean",
         .view = &p->running_mean,
         .is_result = !p->is_eval,
         .is_optional = true},
        {.name = "running_variance",
         .view = &p->running_variance,
         .is_result = !p->is_eval,
         .is_optional = true},
        {.name = "mean", .view = &p->mean, .is_result = !is_b},
        {.name = "scale", .view = &p->scale, .is_result = !is_b},
        {.name = "workspace", .view = &p->workspace, .is_result = true}};
    kiln_status status = op_check_operands(k, p->call, o, COUNT(o), &j->is_in_place);
    j->type = kiln_view_type(p->x);
    if (!status)
        status = op_rows_check(k, p->call, o, 3, 0);
    if (!status && p->x.rank < 2)
        status =
            op_refuse(k, p->call, "'x' has %u dimensions; items and channels are two", p->x.rank);
    for (uint32_t n = 1; n < 3 && !status; n++)
        status = op_check_sizes(k, p->call, &o[n], &o[0]);
    for (uint32_t n = 3; n < 9 && !status; n++)
        status = check_line(k, p, &o[n], n < 7 ? j->type : KILN_F32, p->x.sizes[1]);
    if (!status && !p->is_batch && (!p->groups || p->x.sizes[1] % p->groups))
        status = op_refuse(k, p->call, "%llu channels are not %llu equal groups",
                           (unsigned long long)p->x.sizes[1], (unsigned long long)p->groups);
    if (status)
        return status;
    uint64_t groups = p->is_batch ? p->x.sizes[1] : p->x.sizes[0] * p->groups;
    uint64_t last = p->x.rank > 2 ? p->x.sizes[p->x.rank - 1] : 1;
    uint64_t needed = 2 * (last ? kiln_view_count(p->x) / last + groups : 0);
    for (uint32_t n = 9; n < 11 && !status; n++)
        status = check_line(k, p, &o[n], KILN_F32, groups);
    if (!status)
        status = op_check_type(k, p->call, &o[11], KILN_F32);
    if (!status && (!kiln_view_is_dense(p->workspace) || kiln_view_count(p->workspace) < needed))
        status = op_refuse(k, p->call, "'workspace' is not %llu dense elements",
                           (unsigned long long)needed);
    if (!status && (p->running_mean.buffer != NULL) != (p->running_variance.buffer != NULL))
        status = op_refuse(k, p->call, "one of the running statistics has no buffer");
    if (!status && p->is_eval && !p->is_backward && !p->running_mean.buffer)
        status = op_refuse(k, p->call, "evaluation needs the running statistics");
    return status || (p->eps >= 0 && p->eps <= 1 && p->momentum >= 0 && p->momentum <= 1)
               ? status
               : op_refuse(k, p->call, "eps or momentum is not in 0 … 1");
}

kiln_status op_planes_run(kiln *k, const op_planes *p)
{
    job j = {.p = p};
    kiln_status status = check(k, p, &j);
    if (!status && !kiln_view_count(p->x)) { // sums over nothing, and their statistics
        const kiln_view forward[2] = {p->mean, p->scale}, backward[2] = {p->dweight, p->dbias};
        for (uint32_t n = 0; n < 2 && !status; n++)
            status = op_set_zero(k, p->is_backward ? backward[n] : forward[n], p->stream);
        return status;
    }
    if (status)
        return status;
    make_views(&j);
    if (!p->is_backward) {
        if (!p->is_eval)
            status = run_planes(k, &j, STATISTICS);
        if (!status)
            status = run_combine(k, &j);
        return status ? status : run_planes(k, &j, APPLY);
    }
    status = run_planes(k, &j, SUMS);
    if (!status && (p->dweight.buffer || p->dbias.buffer))
        status = run_sums(k, &j, true);
    if (!status)
        status = run_sums(k, &j, false);
    return status ? status : run_planes(k, &j, GRADIENT);
}
