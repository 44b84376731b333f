// kiln_conv_forward and kiln_conv_backward. A convolution goes from a large tensor to a small one;
// a transposed one, and the gradient by the operand, from the small to the large. Both, and the
// gradient by the weights, are launches of direct.c over the same window.
#include "ops/conv/host_conv.h"

#include "kiln/ops_fuse.h"
#include "ops/checks.h"
#include "rt/memory/view.h"

#define AXES "ops/conv/axes.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/conv/direct.c", "conv"),
                        tiled = OP_PROGRAM("ops/conv/tiled.c", "conv_tiled"),
                        tiled_weights =
                            OP_PROGRAM("ops/conv/tiled_weights.c", "conv_tiled_weights"),
                        tiled_join = OP_PROGRAM("ops/conv/tiled_weights.c", "conv_tiled_join"),
                        depthwise = OP_PROGRAM("ops/conv/depthwise.c", "conv_depthwise");

enum { THREADS = 256, WARPS = THREADS / 32, STAGED_BYTES = 32768 }; // the last: of depthwise.c

// --- checks
static kiln_status check_shapes(kiln *k, conv_job *j)
{
    const kiln_view *large = j->large.view, *small = j->small.view, *w = j->weight.view;
    char a[VIEW_TEXT], b[VIEW_TEXT], c[VIEW_TEXT];
    j->groups = j->groups ? j->groups : 1;
    if (large->rank < 3 || large->rank > 5 || small->rank != large->rank || w->rank != large->rank)
        return op_refuse(k, j->call,
                         "'%s' is %s, '%s' %s, '%s' %s: all have 3, 4 or 5 dimensions, as many as "
                         "the others",
                         j->large.name, view_shape_text(large, a), j->small.name,
                         view_shape_text(small, b), j->weight.name, view_shape_text(w, c));
    if (large->sizes[0] != small->sizes[0] || w->sizes[0] != small->sizes[1] ||
        w->sizes[1] != large->sizes[1] / j->groups || large->sizes[1] % j->groups ||
        small->sizes[1] % j->groups)
        return op_refuse(k, j->call,
                         "'%s' is %s, '%s' %s, '%s' %s, with %u groups: batches or channels do not "
                         "fit",
                         j->large.name, view_shape_text(large, a), j->small.name,
                         view_shape_text(small, b), j->weight.name, view_shape_text(w, c),
                         j->groups);
    if (large->sizes[1] > INT32_MAX || small->sizes[1] > INT32_MAX)
        return op_refuse(k, j->call, "2^31 channels or more");
    j->space = large->rank - 2;
    kiln_status status = KILN_OK;
    for (uint32_t d = 0; d < j->space && !status; d++)
        status =
            op_window_check(k, j->call, &j->large, &j->small, d, w->sizes[2 + d], j->window, false);
    return status;
}

static kiln_status check(kiln *k, conv_job *j, op_operand *operands, uint32_t count)
{
    kiln_status status = op_check_operands(k, j->call, operands, count, NULL);
    j->type = kiln_view_type(*operands->view);
    if (!status)
        status = op_check_types(k, j->call, operands, &op_types_floats);
    for (uint32_t n = 1; n < count && !status; n++)
        status = op_check_type(k, j->call, &operands[n], j->type);
    return status ? status : check_shapes(k, j);
}

static kiln_status check_bias(kiln *k, const conv_job *j, const op_operand *bias, uint64_t channels)
{
    kiln_type type = kiln_view_type(*bias->view);
    if (!bias->view->buffer)
        return KILN_OK;
    if (type != KILN_F32 && type != j->type)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s, not f32 or %s", j->call,
                         bias->name, kiln_type_name(type), kiln_type_name(j->type));
    if (bias->view->rank != 1 || bias->view->sizes[0] != channels)
        return op_refuse(k, j->call, "'%s' must be [%llu]: one number a channel", bias->name,
                         (unsigned long long)channels);
    return KILN_OK;
}

// --- launches
uint32_t conv_type_axis(kiln_type type)
{
    return type == KILN_BF16 ? 0 : type == KILN_F16 ? 1 : type == KILN_F32 ? 2 : 3;
}

static void set_axes(const conv_job *j, op_request *r)
{
    op_set(r, T, conv_type_axis(j->type));
    op_set(r, SPACE, j->space);
}

static void begin(const conv_job *j, const kiln_view *from, const kiln_view *to, op_window *w)
{
    op_window_make(from, to, j->window, w);
    op_window_sizes(j->weight.view, w->taps);
    op_window_steps(j->weight.view, w->weight);
}

// One channel, one window: threads have packs of channels where those are contiguous, and several
// results where there are many.
static void set_depthwise(kiln *k, const conv_job *j, const kiln_view *from, const kiln_view *to,
                          op_window *w, op_request *r)
{
    enum { MANY = 512 }; // threads of a multiprocessor
    const kiln_device_info *info;
    bool has_several = !op_device(k, &info) && info->multiprocessors;
    uint64_t many = (uint64_t)MANY * (has_several ? info->multiprocessors : 1);
    uint32_t width = conv_depthwise_width(j->type, from, w->from, to, w->to);
    uint32_t pixels = 4;
    while (pixels > 1 && w->count / width / pixels < many)
        pixels /= 2;
    uint64_t last = w->to_space[2], strips = (last + pixels - 1) / pixels;
    w->count = w->count / last * strips / width;
    r->program = &depthwise;
    op_set(r, V, width);
    op_set(r, PIXELS, pixels);
    uint64_t bytes = kiln_view_count(*j->weight.view) * kiln_type_size(j->type);
    op_set(r, STAGED, width > 1 && bytes <= STAGED_BYTES);
}

// Places of the results. Those of the phases of tiled.c may be behind the tensor.
static uint64_t places_of(const op_window *w, bool is_phased)
{
    uint64_t places = w->batch;
    for (uint32_t d = 0; d < WINDOW_SPACE && is_phased; d++)
        places =
            places / w->to_space[d] * (op_ceil_div(w->to_space[d], w->stride[d]) * w->stride[d]);
    return places;
}

static uint64_t tiles_of(const op_window *w, uint64_t places, uint32_t groups, uint64_t m,
                         uint64_t n)
{
    return (places + m - 1) / m * ((w->per_group + n - 1) / n) * groups;
}

// Many results with long sums: blocks have tiles of them. Returns the blocks; 0: they do not.
static uint64_t set_tiled(kiln *k, const conv_job *j, bool is_inverse, const op_window *w,
                          op_request *r)
{
    enum { LEAST = 4, LEAST_LENGTH = 8, LEAST_PLACES = 32, DEPTH = 16, PLAYED = 2 };
    uint64_t length = (uint64_t)w->taps[0] * w->taps[1] * w->taps[2] * w->terms;
    const kiln_device_info *info;
    if (!k->caps.has_nv || j->type == KILN_F64 || w->per_group < LEAST || length < LEAST_LENGTH ||
        length > INT32_MAX || w->batch < LEAST_PLACES || op_device(k, &info))
        return 0;
    bool is_flat = w->terms % DEPTH != 0, is_phased = false;
    for (uint32_t d = 0; d < WINDOW_SPACE; d++)
        is_phased |= is_inverse && !is_flat && w->stride[d] > 1;
    uint64_t places = places_of(w, is_phased);
    uint32_t all = info->multiprocessors ? info->multiprocessors : PLAYED, m = 128, n = 64;
    if (tiles_of(w, places, j->groups, m, n) < 2 * all)
        m = 64;
    if (w->per_group <= 32 || tiles_of(w, places, j->groups, m, n) < all)
        m = n = 32;
    r->program = &tiled;
    op_set(r, BM, m);
    op_set(r, BN, n);
    op_set(r, TO_LAST, w->to[1] == 1);
    op_set(r, CHANNELS_LAST, w->from[1] == 1);
    op_set(r, WEIGHT_LAST, w->weight[0] == 1);
    op_set(r, FLAT, is_flat);
    op_set(r, PHASED, is_phased);
    if (places > INT32_MAX)
        op_set(r, LONG, true);
    return tiles_of(w, places, j->groups, m, n);
}

static void begin_slide(const conv_job *j, bool is_inverse, op_window *w)
{
    const kiln_view *from = is_inverse ? j->small.view : j->large.view;
    const kiln_view *to = is_inverse ? j->large.view : j->small.view;
    begin(j, from, to, w);
    w->count = kiln_view_count(*to);
    w->channels = (uint32_t)to->sizes[1];
    w->per_group = w->channels / j->groups;
    w->terms = (uint32_t)from->sizes[1] / j->groups;
    int64_t small = w->weight[0], large = w->weight[1];
    w->weight[0] = is_inverse ? large : small;
    w->weight[1] = is_inverse ? small : large;
    w->group = small * (int64_t)(j->small.view->sizes[1] / j->groups);
}

// tiled.c reads weights [group, taps…, channel of the terms, of the results] best: f32 elements of
// a copy; 0: there is none.
static uint64_t packed_elements(kiln *k, const conv_job *j, bool is_inverse)
{
    op_request r = {0};
    op_window w;
    if (j->type != KILN_F32 || !kiln_view_count(*j->large.view) || !kiln_view_count(*j->small.view))
        return 0;
    begin_slide(j, is_inverse, &w);
    return w.weight[0] != 1 && set_tiled(k, j, is_inverse, &w, &r)
               ? kiln_view_count(*j->weight.view)
               : 0;
}

static kiln_status pack_weights(kiln *k, const conv_job *j, op_window *w, kiln_view *out)
{
    const kiln_view *from = j->weight.view;
    uint32_t results = from->rank, terms = from->rank - 1;
    int64_t strides[KILN_MAX_RANK];
    view_strides(from, strides);
    kiln_view v = *from;
    v.rank = from->rank + 1;
    v.has_strides = true;
    v.sizes[0] = j->groups;
    v.strides[0] = w->group;
    for (uint32_t d = 2; d < from->rank; d++) {
        v.sizes[d - 1] = from->sizes[d];
        v.strides[d - 1] = strides[d];
    }
    v.sizes[terms] = w->terms;
    v.strides[terms] = w->weight[1];
    v.sizes[results] = w->per_group;
    v.strides[results] = w->weight[0];
    *out = kiln_view_of(j->workspace.buffer, v.rank, v.sizes);
    out->first = j->workspace.first;
    w->weight[0] = 1;
    w->weight[1] = w->per_group;
    w->weight[4] = (int64_t)w->terms * w->per_group;
    w->weight[3] = w->weight[4] * w->taps[2];
    w->weight[2] = w->weight[3] * w->taps[1];
    w->group = w->weight[2] * w->taps[0];
    return kiln_elementwise_forward(
        k,
        &(kiln_elementwise_desc){.op = KILN_EW_COPY, .in = {v}, .out = *out, .stream = j->stream});
}

// From the large tensor to the small one, or back.
static kiln_status slide(kiln *k, const conv_job *j, bool is_inverse)
{
    const kiln_view *from = is_inverse ? j->small.view : j->large.view;
    const kiln_view *to = is_inverse ? j->large.view : j->small.view;
    const kiln_view *views[] = {from, j->weight.view, to, j->bias.view};
    bool has_bias = j->bias.view && j->bias.view->buffer;
    op_request r = {.program = &program};
    op_window w;
    kiln_view packed;
    if (!kiln_view_count(*to))
        return KILN_OK;
    bool is_done;
    kiln_status status = conv_tensor_slide(k, j, is_inverse, &is_done);
    if (status || is_done)
        return status;
    begin_slide(j, is_inverse, &w);
    w.other[0] = has_bias ? kiln_view_stride(*j->bias.view, 0) : 0;
    if (j->workspace.buffer && packed_elements(k, j, is_inverse)) {
        status = pack_weights(k, j, &w, &packed);
        views[1] = &packed;
    }
    set_axes(j, &r);
    op_set(&r, INVERSE, is_inverse);
    op_set(&r, HAS_BIAS, has_bias);
    if (has_bias)
        op_set(&r, BIAS, conv_type_axis(kiln_view_type(*j->bias.view)));
    op_set(&r, ACTIVATION, j->activation);
    if (w.per_group == 1 && w.terms == 1) {
        status = status ? status : conv_depthwise_slide(k, j, is_inverse, &w, &is_done);
        if (status || is_done)
            return status;
        set_depthwise(k, j, from, to, &w, &r);
    }
    op_set(&r, LONG, w.count > INT32_MAX);
    op_set(&r, CHANNELS_LAST, w.to[1] == 1 || w.to[1] == -1);
    uint64_t blocks = set_tiled(k, j, is_inverse, &w, &r);
    return status
               ? status
               : op_window_launch(k, j->call, &r, &w, views, has_bias ? 4 : 3,
                                  blocks ? blocks : (w.count + THREADS - 1) / THREADS, j->stream);
}

// Is tiled_weights.c for this?
static bool has_tiled_weights(kiln *k, const conv_job *j)
{
    enum { LEAST = 4, LEAST_LENGTH = 8, LEAST_PLACES = 64 };
    const kiln_view *w = j->weight.view, *small = j->small.view;
    uint64_t count = kiln_view_count(*w);
    bool is_long = count && kiln_view_count(*small) / small->sizes[1] >= LEAST_PLACES;
    return k->caps.has_nv && j->type == KILN_F32 && is_long && w->sizes[0] / j->groups >= LEAST &&
           count / w->sizes[0] >= LEAST_LENGTH;
}

// f32 elements of its parts; 0: a block has all of them.
static uint64_t tiled_parts(kiln *k, const conv_job *j)
{
    enum { PARTS = 32, MOST = 1 << 24 };
    uint64_t count = kiln_view_count(*j->weight.view);
    return has_tiled_weights(k, j) && count <= MOST / PARTS ? count * PARTS : 0;
}

static kiln_status run_tiled_weights(kiln *k, const conv_job *j, const op_window *w,
                                     const kiln_view *large, const kiln_view *small, op_request *r)
{
    enum { PARTS = 32, TILE = 64, EACH = 4 };
    bool is_whole = !tiled_parts(k, j);
    const kiln_view *views[] = {large, small, is_whole ? j->weight.view : &j->workspace},
                    *joined[] = {&j->workspace, j->weight.view};
    uint64_t taps = (uint64_t)w->taps[0] * w->taps[1] * w->taps[2],
             tiles = (w->terms * taps + TILE - 1) / TILE * ((w->per_group + TILE - 1) / TILE);
    r->program = &tiled_weights;
    op_set(r, FLAT, w->terms % EACH != 0);
    op_set(r, WHOLE, is_whole);
    kiln_status status = op_window_launch(k, j->call, r, w, views, 3,
                                          tiles * j->groups * (is_whole ? 1 : PARTS), j->stream);
    if (status || is_whole)
        return status;
    r->program = &tiled_join;
    op_set(r, JOIN, true);
    return op_window_launch(k, j->call, r, w, joined, 2, (w->count + 31) / 32, j->stream);
}

static kiln_status run_weights(kiln *k, const conv_job *j, const kiln_view *large,
                               const kiln_view *small)
{
    const kiln_view *views[] = {large, small, j->weight.view};
    op_request r = {.program = &program};
    op_window w;
    bool is_done;
    kiln_status status = conv_depthwise_weights(k, j, large, small, &is_done);
    if (!status && !is_done)
        status = conv_tensor_weights(k, j, large, small, &is_done);
    if (status || is_done)
        return status;
    begin(j, large, small, &w);
    w.count = kiln_view_count(*j->weight.view);
    w.channels = (uint32_t)small->sizes[1];
    w.per_group = w.channels / j->groups;
    w.terms = (uint32_t)j->weight.view->sizes[1];
    w.group = w.weight[0] * w.per_group;
    set_axes(j, &r);
    op_set(&r, LONG, w.count > INT32_MAX || w.batch > INT32_MAX);
    if (has_tiled_weights(k, j) && (j->workspace.buffer || !tiled_parts(k, j)))
        return run_tiled_weights(k, j, &w, large, small, &r);
    op_set(&r, WEIGHTS, true);
    return w.count ? op_window_launch(k, j->call, &r, &w, views, 3, (w.count + WARPS - 1) / WARPS,
                                      j->stream)
                   : KILN_OK;
}

// The sum over batches and space.
static kiln_status run_bias(kiln *k, const conv_job *j, const kiln_view *dout,
                            const kiln_view *dbias)
{
    kiln_expr e;
    e.count = 0;
    e.mistake[0] = 0;
    kiln_fuse_desc d = {.expression = &e,
                        .in = {*dout},
                        .axes = (((uint32_t)1 << dout->rank) - 1) & ~(uint32_t)2,
                        .stream = j->stream};
    d.out[0] = (kiln_fuse_output){
        .node = kiln_expr_input(&e, 0), .view = *dbias, .reduction = KILN_FUSE_SUM};
    return kiln_fuse(k, &d);
}

// --- calls
static kiln_status check_kernel(kiln *k, const conv_job *j, const kiln_view *workspace,
                                const op_operand *operands, uint32_t count, uint64_t needed)
{
    if ((unsigned)j->kernel > KILN_CONV_SM80)
        return op_refuse(k, j->call, "there is no kernel %d", (int)j->kernel);
    if (!workspace->buffer || !needed)
        return KILN_OK;
    kiln_status status = view_check_written(k, workspace, j->call, "workspace");
    if (!status && (kiln_view_type(*workspace) != KILN_F32 || !kiln_view_is_dense(*workspace) ||
                    kiln_view_count(*workspace) < needed))
        status = op_refuse(k, j->call, "'workspace' must be dense f32 with %llu elements",
                           (unsigned long long)needed);
    if (!status && !view_is_aligned(workspace, 16))
        status = op_refuse(k, j->call, "'workspace' does not begin at a multiple of 16 bytes");
    for (uint32_t n = 0; n < count && !status; n++)
        if (operands[n].view->buffer && kiln_view_overlaps(*workspace, *operands[n].view))
            status = op_refuse(k, j->call, "'workspace' overlaps '%s'", operands[n].name);
    return status;
}

// A job whose tensors have their channels last, as far as that is possible.
typedef struct relaid {
    conv_job job; // points into this struct
    kiln_view large, small, dx;
    uint64_t elements;
} relaid;

static void relay(kiln *k, const conv_job *j, relaid *out)
{
    out->elements = 0;
    out->large = conv_relay(k, j, j->large.view, j->large.is_result, &out->elements);
    out->small = conv_relay(k, j, j->small.view, j->small.is_result, &out->elements);
    out->job = *j;
    out->job.large.view = &out->large;
    out->job.small.view = &out->small;
    out->job.workspace.first += out->elements;
}

// Checks the call; `needed` are the elements of its workspace.
static kiln_status prepare(kiln *k, const char *call, const kiln_conv_desc *d, conv_job *j,
                           uint64_t *needed)
{
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    op_operand o[] = {{.name = "x", .view = &d->x},
                      {.name = "weight", .view = &d->weight},
                      {.name = "out", .view = &d->out, .is_result = true},
                      {.name = "bias", .view = &d->bias, .is_optional = true}};
    *j = (conv_job){.call = call,
                    .large = d->is_transposed ? o[2] : o[0],
                    .small = d->is_transposed ? o[0] : o[2],
                    .weight = o[1],
                    .bias = o[3],
                    .window = &d->window,
                    .groups = d->groups,
                    .activation = d->activation,
                    .kernel = d->kernel,
                    .workspace = d->workspace,
                    .stream = d->stream};
    if ((unsigned)d->activation > KILN_ACTIVATION_SILU)
        return op_refuse(k, call, "there is no activation %d", (int)d->activation);
    status = check(k, j, o, 3);
    if (!status)
        status = op_check_operands(k, call, o, COUNT(o), NULL);
    if (!status)
        status = check_bias(k, j, &o[3], d->out.sizes[1]);
    if (status)
        return status;
    relaid r;
    relay(k, j, &r);
    *needed = r.elements + conv_tensor_workspace(k, &r.job, d->is_transposed) +
              packed_elements(k, &r.job, d->is_transposed);
    return check_kernel(k, j, &d->workspace, o, COUNT(o), *needed);
}

kiln_status kiln_conv_workspace(kiln *k, const kiln_conv_desc *d, uint64_t *elements)
{
    conv_job j;
    kiln_conv_desc without;
    kiln_status status = op_begin(k, "kiln_conv_workspace", elements ? d : NULL);
    if (status)
        return status;
    without = *d;
    without.workspace.buffer = NULL;
    return prepare(k, "kiln_conv_workspace", &without, &j, elements);
}

kiln_status kiln_conv_forward(kiln *k, const kiln_conv_desc *d)
{
    conv_job j;
    uint64_t needed;
    relaid r;
    kiln_status status = prepare(k, "kiln_conv_forward", d, &j, &needed);
    if (status || !d->workspace.buffer)
        return status ? status : slide(k, &j, d->is_transposed);
    relay(k, &j, &r);
    const kiln_view *x = d->is_transposed ? &r.small : &r.large,
                    *out = d->is_transposed ? &r.large : &r.small;
    status = conv_relay_copy(k, &j, &d->x, x);
    if (!status)
        status = slide(k, &r.job, d->is_transposed);
    return status ? status : conv_relay_copy(k, &j, out, &d->out);
}

// by_x: the job whose result is the gradient by x.
static void relay_backward(kiln *k, const conv_job *j, const kiln_conv_backward_desc *d,
                           relaid *out, conv_job *by_x)
{
    relay(k, j, out);
    out->dx = conv_relay(k, j, &d->dx, true, &out->elements);
    out->job.workspace.first = j->workspace.first + out->elements;
    *by_x = out->job;
    (d->is_transposed ? &by_x->small : &by_x->large)->view = &out->dx;
}

static kiln_status prepare_backward(kiln *k, const char *call, const kiln_conv_backward_desc *d,
                                    conv_job *j, uint64_t *needed)
{
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    op_operand o[] = {
        {.name = "x", .view = &d->x},
        {.name = "weight", .view = &d->weight},
        {.name = "dout", .view = &d->dout},
        {.name = "dx", .view = &d->dx, .is_result = true, .is_optional = true},
        {.name = "dweight", .view = &d->dweight, .is_result = true, .is_optional = true},
        {.name = "dbias", .view = &d->dbias, .is_result = true, .is_optional = true}};
    *j = (conv_job){.call = call,
                    .large = d->is_transposed ? o[2] : o[0],
                    .small = d->is_transposed ? o[0] : o[2],
                    .weight = o[1],
                    .window = &d->window,
                    .groups = d->groups,
                    .kernel = d->kernel,
                    .workspace = d->workspace,
                    .stream = d->stream,
                    .has_both = d->dx.buffer && d->dweight.buffer};
    status = check(k, j, o, 5);
    if (!status)
        status = op_check_operands(k, call, o, COUNT(o), NULL);
    for (uint32_t n = 0; n < 2 && !status; n++)
        status = op_check_sizes(k, call, &o[3 + n], &o[n]);
    if (!status)
        status = check_bias(k, j, &o[5], d->dout.sizes[1]);
    if (status)
        return status;
    relaid r;
    conv_job by_x;
    relay_backward(k, j, d, &r, &by_x);
    uint64_t to_x = d->dx.buffer ? conv_tensor_workspace(k, &by_x, !d->is_transposed) +
                                       packed_elements(k, &by_x, !d->is_transposed)
                                 : 0;
    uint64_t to_weight =
        d->dweight.buffer ? conv_tensor_weights_workspace(k, &r.job, &r.large, &r.small) : 0;
    if (d->dweight.buffer && tiled_parts(k, j))
        to_weight = tiled_parts(k, j);
    if (d->dweight.buffer && kiln_view_count(d->dout))
        to_weight += conv_depthwise_workspace(&r.job, &r.large, &r.small);
    *needed = r.elements + (to_x > to_weight ? to_x : to_weight);
    return check_kernel(k, j, &d->workspace, o, COUNT(o), *needed);
}

kiln_status kiln_conv_backward_workspace(kiln *k, const kiln_conv_backward_desc *d,
                                         uint64_t *elements)
{
    conv_job j;
    kiln_conv_backward_desc without;
    kiln_status status = op_begin(k, "kiln_conv_backward_workspace", elements ? d : NULL);
    if (status)
        return status;
    without = *d;
    without.workspace.buffer = NULL;
    return prepare_backward(k, "kiln_conv_backward_workspace", &without, &j, elements);
}

kiln_status kiln_conv_backward(kiln *k, const kiln_conv_backward_desc *d)
{
    conv_job j;
    uint64_t needed;
    relaid r;
    conv_job to_x, to_weight;
    kiln_status status = prepare_backward(k, "kiln_conv_backward", d, &j, &needed);
    if (status)
        return status;
    if (d->workspace.buffer) {
        relay_backward(k, &j, d, &r, &to_x);
        if (d->dweight.buffer)
            status = conv_relay_copy(k, &j, &d->x, d->is_transposed ? &r.small : &r.large);
        if (!status && (d->dx.buffer || d->dweight.buffer))
            status = conv_relay_copy(k, &j, &d->dout, d->is_transposed ? &r.large : &r.small);
        to_weight = r.job;
    } else {
        to_x = to_weight = j;
        r.dx = d->dx;
        (d->is_transposed ? &to_x.small : &to_x.large)->view = &r.dx;
    }
    to_weight.weight.view = &d->dweight;
    bool has_small = false;
    to_x.has_small = to_weight.has_small = &has_small;
    bool is_inverse = !d->is_transposed;
    if (d->dx.buffer && d->dweight.buffer && kiln_view_count(d->dx) &&
        conv_tensor_is_beside(k, &to_x, is_inverse, &to_weight)) {
        to_x.is_late = true;
        to_weight.beside = &to_x;
        to_weight.beside_is_inverse = is_inverse;
    } else if (!status && d->dx.buffer)
        status = slide(k, &to_x, is_inverse);
    if (!status && d->dweight.buffer)
        status = run_weights(k, &to_weight, to_weight.large.view, to_weight.small.view);
    if (!status && d->dx.buffer)
        status = conv_relay_copy(k, &j, &r.dx, &d->dx);
    return status || !d->dbias.buffer ? status : run_bias(k, &j, &d->dout, &d->dbias);
}
