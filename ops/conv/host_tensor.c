// Convolutions on tensor cores (implicit.c, implicit_weights.c): when they are possible, how the
// weights are packed, which tiles there are. Results are sums in another order than those of
// direct.c. Start reading at conv_tensor_slide.
#include "ops/conv/host_conv.h"

#include "ops/launch.h"
#include "rt/memory/view.h"

#define AXES "ops/conv/axes_tensor.def"
#include "ops/axes.h"
static const op_program implicit = OP_PROGRAM("ops/conv/implicit.c", "conv_implicit"),
                        implicit_weights =
                            OP_PROGRAM("ops/conv/implicit_weights.c", "conv_weights"),
                        weights_add = OP_PROGRAM("ops/conv/weights_add.c", "conv_weights_add");

enum { GRANULE = 8 }; // elements of a copy

// --- when
static bool is_wanted(kiln *k, const conv_job *j)
{
    const kiln_device_info *info;
    if (j->kernel != KILN_CONV_BEST || op_device(k, &info))
        return j->kernel == KILN_CONV_TENSOR || j->kernel == KILN_CONV_SM80;
    return !info->caps.is_emulated;
}

bool conv_is_granular(const kiln_view *v)
{
    int64_t strides[KILN_MAX_RANK];
    view_strides(v, strides);
    bool is_right = strides[1] == 1 && view_is_aligned(v, 2 * GRANULE);
    for (uint32_t d = 0; d < v->rank; d++)
        is_right = is_right && (d == 1 || v->sizes[d] == 1 || strides[d] % GRANULE == 0);
    return is_right;
}

static bool has_cores(kiln *k)
{
    return k->caps.has_nv && (!k->caps.sm || k->caps.sm >= 80);
}

bool conv_tensor_is_possible(kiln *k, const conv_job *j)
{
    return (j->type == KILN_F16 || j->type == KILN_BF16) && has_cores(k) && is_wanted(k, j);
}

// Why it is not possible; NULL: it is.
static const char *type_obstacle(kiln *k, const conv_job *j, const kiln_view *from)
{
    if (!has_cores(k))
        return "the device has no tensor cores of sm_80";
    if (j->type != KILN_F16 && j->type != KILN_BF16)
        return "only f16 and bf16 are multiplied there";
    if (!conv_is_granular(from))
        return "the channels of an operand are not contiguous, or do not start at multiples of 16 "
               "bytes";
    return NULL;
}

static const char *obstacle(kiln *k, const conv_job *j, const kiln_view *from)
{
    const char *why = type_obstacle(k, j, from);
    if (why)
        return why;
    if (from->sizes[1] / j->groups % GRANULE || !from->sizes[1])
        return "the channels of a group are not a multiple of 8";
    return NULL;
}

static const char *weights_obstacle(kiln *k, const conv_job *j, const kiln_view *large,
                                    const kiln_view *small)
{
    const char *why = obstacle(k, j, large);
    if (!why)
        why = obstacle(k, j, small);
    return why ? why : kiln_view_count(*small) ? NULL : "there is nothing to add up";
}

static kiln_status refuse(kiln *k, const conv_job *j, const char *why)
{
    return j->kernel != KILN_CONV_BEST
               ? op_refuse(k, j->call, "the kernel for tensor cores is impossible here: %s", why)
               : KILN_OK;
}

// --- weights: [groups, channels of the results, taps…, channels of the terms]
// The other way round they lie as the other direction takes them.
static kiln_view packed_order(const conv_job *j, bool is_inverse)
{
    const kiln_view *w = j->weight.view;
    int64_t strides[KILN_MAX_RANK];
    view_strides(w, strides);
    uint64_t small = w->sizes[0] / j->groups;
    kiln_view v = *w;
    uint32_t last = w->rank;
    v.rank = w->rank + 1;
    v.has_strides = true;
    v.sizes[0] = j->groups;
    v.strides[0] = strides[0] * (int64_t)small;
    v.sizes[1] = is_inverse ? w->sizes[1] : small;
    v.strides[1] = is_inverse ? strides[1] : strides[0];
    for (uint32_t d = 2; d < w->rank; d++) {
        v.sizes[d] = w->sizes[d];
        v.strides[d] = strides[d];
    }
    v.sizes[last] = is_inverse ? small : w->sizes[1];
    v.strides[last] = is_inverse ? strides[0] : strides[1];
    return v;
}

static bool is_packed(const kiln_view *v)
{
    return kiln_view_is_dense(*v) && view_is_aligned(v, 2 * GRANULE);
}

// --- windows of one element: a matrix product, [places, channels] times weights
static bool is_plain(const kiln_view *v, kiln_view *out) // dense with the channels last
{
    uint32_t order[KILN_MAX_RANK] = {0};
    for (uint32_t d = 2; d < v->rank; d++)
        order[d - 1] = d;
    order[v->rank - 1] = 1;
    kiln_view last = kiln_view_permute(*v, order);
    if (!kiln_view_is_dense(last))
        return false;
    uint64_t channels = v->sizes[1];
    const uint64_t sizes[] = {kiln_view_count(*v) / (channels ? channels : 1), channels};
    *out = kiln_view_of(v->buffer, 2, sizes);
    out->first = v->first;
    out->type = v->type;
    return channels != 0;
}

static bool is_point(const conv_job *j)
{
    bool is_one = j->groups == 1 && (j->type == KILN_F16 || j->type == KILN_BF16);
    for (uint32_t d = 0; d < j->space && is_one; d++)
        is_one = j->weight.view->sizes[2 + d] == 1 && j->window->stride[d] <= 1 &&
                 !j->window->pad_before[d] && !j->window->pad_after[d];
    return is_one;
}

static kiln_view matrix_of(kiln_view weight)
{
    for (uint32_t d = weight.rank; d-- > 2;)
        weight = kiln_view_squeeze(weight, d);
    return weight;
}

static bool is_product(const conv_job *j, bool is_inverse, kiln_matmul_desc *out)
{
    static const kiln_epilogue epilogues[] = {KILN_EPILOGUE_BIAS, KILN_EPILOGUE_BIAS_RELU,
                                              KILN_EPILOGUE_BIAS_GELU, KILN_EPILOGUE_BIAS_SILU};
    bool has_bias = j->bias.view && j->bias.view->buffer;
    bool is_one = is_point(j) && (has_bias ? kiln_view_type(*j->bias.view) == KILN_F32
                                           : j->activation == KILN_ACTIVATION_NONE);
    *out = (kiln_matmul_desc){.epilogue = has_bias ? epilogues[j->activation] : KILN_EPILOGUE_NONE,
                              .stream = j->stream};
    if (!is_one || !is_plain(is_inverse ? j->small.view : j->large.view, &out->a) ||
        !is_plain(is_inverse ? j->large.view : j->small.view, &out->out))
        return false;
    kiln_view weight = matrix_of(*j->weight.view);
    out->b = is_inverse ? weight : kiln_view_transpose(weight);
    if (has_bias)
        out->bias = *j->bias.view;
    return true;
}

// Weights as they are, where a kernel takes them so; false: they must be packed.
static bool find_weights(kiln *k, const conv_job *j, bool is_inverse, conv_weights *out)
{
    *out = (conv_weights){.view = packed_order(j, is_inverse)};
    if (is_packed(&out->view))
        return true;
    kiln_view other = packed_order(j, !is_inverse);
    if (!is_packed(&other) || other.sizes[other.rank - 1] % GRANULE ||
        !conv_sm90_is_possible(k, j, is_inverse))
        return false;
    *out = (conv_weights){.view = other, .is_across = true};
    return true;
}

// The same for the kernels of sm_90a: all places are one row.
typedef struct flat {
    conv_job job; // points into this struct
    kiln_view large, small;
} flat;

static kiln_view flat_view(const kiln_view *matrix)
{
    uint64_t places = matrix->sizes[0], channels = matrix->sizes[1];
    kiln_view v = *matrix;
    v.rank = 4;
    v.has_strides = true;
    v.sizes[0] = v.sizes[2] = 1;
    v.sizes[1] = channels;
    v.sizes[3] = places;
    v.strides[0] = v.strides[2] = (int64_t)(places * channels);
    v.strides[1] = 1;
    v.strides[3] = (int64_t)channels;
    return v;
}

// Long sums of few places: tiles of 64 x 128 fill the device, those of 128 x 128 not half of it,
// for which the product would share its sums.
static bool is_short(const kiln_matmul_desc *product)
{
    enum { FULL = 132, LONG = 1024 };
    uint64_t columns = op_ceil_div(product->out.sizes[1], 128), places = product->out.sizes[0],
             tiles = op_ceil_div(places, 64) * columns;
    return product->a.sizes[1] >= LONG && tiles <= FULL && tiles > FULL / 2 &&
           op_ceil_div(places, 128) * columns <= FULL / 2;
}

bool conv_rows_of(const conv_job *j, const kiln_view *large, const kiln_view *small,
                  kiln_view *large_row, kiln_view *small_row)
{
    kiln_view a, b;
    if (!is_point(j) || j->space != 2 || !is_plain(large, &a) || !is_plain(small, &b))
        return false;
    *large_row = flat_view(&a);
    *small_row = flat_view(&b);
    return true;
}

// False: one is not possible.
static bool is_flat(kiln *k, const conv_job *j, bool is_inverse, flat *out, conv_weights *weight)
{
    out->job = *j;
    if (!conv_rows_of(j, j->large.view, j->small.view, &out->large, &out->small))
        return false;
    out->job.large.view = &out->large;
    out->job.small.view = &out->small;
    return !obstacle(k, j, is_inverse ? &out->small : &out->large) &&
           conv_sm90_is_possible(k, &out->job, is_inverse) &&
           find_weights(k, &out->job, is_inverse, weight);
}

// The gradient by the weights: [output channels, places] times [places, channels]. The kernel for
// sm_90a knows better how to cut the places into chunks.
static bool is_weights_product(kiln *k, const conv_job *j, const kiln_view *large,
                               const kiln_view *small, kiln_matmul_desc *out)
{
    kiln_view dout;
    *out = (kiln_matmul_desc){.stream = j->stream};
    if (!is_point(j) || j->has_wide_weight || !is_plain(small, &dout) ||
        !is_plain(large, &out->b) ||
        (!weights_obstacle(k, j, large, small) && conv_sm90_weights_parts(k, j, large, small)))
        return false;
    out->a = kiln_view_transpose(dout);
    out->out = matrix_of(*j->weight.view);
    return true;
}

// f32 elements of the workspace that packed weights take, in whole lines of 128 bytes.
static uint64_t packed_elements(const kiln_view *v)
{
    return (kiln_view_count(*v) + 63) / 64 * 32;
}

uint64_t conv_tensor_workspace(kiln *k, const conv_job *j, bool is_inverse)
{
    const kiln_view *from = is_inverse ? j->small.view : j->large.view;
    conv_weights weight;
    kiln_matmul_desc product;
    if (is_product(j, is_inverse, &product) || !is_wanted(k, j))
        return 0;
    if (conv_is_thin(k, j, from)) {
        conv_wide wide;
        conv_widen(k, j, from, !is_inverse, true, false, &wide);
        (is_inverse ? &wide.job.small : &wide.job.large)->view = &wide.from;
        return wide.elements + conv_tensor_workspace(k, &wide.job, is_inverse);
    }
    if (conv_merged(k, j) > 1) {
        conv_wide wide;
        conv_merge(k, j, true, false, &wide);
        return wide.elements + conv_tensor_workspace(k, &wide.job, is_inverse);
    }
    if (obstacle(k, j, from))
        return 0;
    if (conv_has_thin_result(k, j, is_inverse)) {
        conv_wide wide;
        conv_widen_result(k, j, false, &wide);
        return wide.elements + conv_tensor_workspace(k, &wide.job, is_inverse);
    }
    return find_weights(k, j, is_inverse, &weight) ? 0 : packed_elements(&weight.view);
}

// --- launches
// Tiles of 128 channels where there are so many, and enough tiles for the device.
static void pick_tile(const op_window *w, uint32_t groups, uint32_t *m, uint32_t *n)
{
    enum { FULL = 132 };
    *m = *n = 128;
    if (w->per_group <= 64 ||
        op_ceil_div(w->batch, 128) * op_ceil_div(w->per_group, 128) * groups < FULL)
        *n = 64;
    if (op_ceil_div(w->batch, 128) * op_ceil_div(w->per_group, *n) * groups < FULL)
        *m = *n = 64;
}

static bool is_paired(const kiln_view *to, const op_window *w)
{
    bool is_even =
        w->to[1] == 1 && w->per_group % 2 == 0 && view_is_aligned(to, 4) && w->to[0] % 2 == 0;
    for (uint32_t d = 2; d < 5; d++)
        is_even = is_even && w->to[d] % 2 == 0;
    return is_even;
}

static kiln_status launch(kiln *k, const conv_job *j, bool is_inverse, const kiln_view *weight)
{
    const kiln_view *from = is_inverse ? j->small.view : j->large.view;
    const kiln_view *to = is_inverse ? j->large.view : j->small.view;
    bool has_bias = j->bias.view && j->bias.view->buffer;
    uint32_t tile_m, tile_n;
    op_window w;
    op_window_make(from, to, j->window, &w);
    op_window_sizes(j->weight.view, w.taps);
    w.count = kiln_view_count(*to);
    w.channels = (uint32_t)to->sizes[1];
    w.per_group = w.channels / j->groups;
    w.terms = (uint32_t)from->sizes[1] / j->groups;
    w.other[0] = has_bias ? kiln_view_stride(*j->bias.view, 0) : 0;
    pick_tile(&w, j->groups, &tile_m, &tile_n);
    bool divides = false;
    for (uint32_t d = 0; d < WINDOW_SPACE; d++)
        divides |= is_inverse && w.stride[d] > 1;
    op_request r = {.program = &implicit};
    op_set(&r, T, j->type == KILN_F16);
    op_set(&r, INVERSE, is_inverse);
    op_set(&r, HAS_BIAS, has_bias);
    if (has_bias)
        op_set(&r, BIAS, conv_type_axis(kiln_view_type(*j->bias.view)));
    op_set(&r, ACTIVATION, j->activation);
    op_set(&r, SPACE, j->space);
    op_set(&r, LONG, w.batch > INT32_MAX);
    op_set(&r, BM, tile_m);
    op_set(&r, BN, tile_n);
    op_set(&r, PAIRS, is_paired(to, &w));
    op_set(&r, DIVIDES, divides);
    uint64_t blocks = op_ceil_div(w.batch, tile_m) * op_ceil_div(w.per_group, tile_n);
    kiln_arg args[5] = {kiln_arg_view(*from), kiln_arg_view(*weight), kiln_arg_view(*to)};
    uint32_t count = 3;
    if (has_bias)
        args[count++] = kiln_arg_view(*j->bias.view);
    args[count++] = kiln_arg_struct(&w, sizeof w);
    return op_launch(k, &(op_launch_desc){.request = &r,
                                          .blocks = blocks,
                                          .parts = j->groups,
                                          .call = j->call,
                                          .units = "tiles",
                                          .unit_count = blocks,
                                          .args = args,
                                          .arg_count = count,
                                          .stream = j->stream});
}

kiln_status conv_tensor_slide(kiln *k, const conv_job *j, bool is_inverse, bool *is_done)
{
    const kiln_view *from = is_inverse ? j->small.view : j->large.view;
    *is_done = false;
    if (!is_wanted(k, j))
        return KILN_OK;
    kiln_matmul_desc product;
    if (is_product(j, is_inverse, &product)) {
        flat one;
        conv_weights weight;
        *is_done = true;
        if ((j->is_late || is_short(&product)) && is_flat(k, j, is_inverse, &one, &weight))
            return conv_sm90_launch(k, &one.job, is_inverse, &weight);
        return kiln_matmul(k, &product);
    }
    if (conv_is_thin(k, j, from) && j->workspace.buffer) {
        conv_wide wide;
        kiln_status status = conv_widen(k, j, from, !is_inverse, true, true, &wide);
        if (is_inverse && j->has_small)
            *j->has_small = true;
        (is_inverse ? &wide.job.small : &wide.job.large)->view = &wide.from;
        return status ? status : conv_tensor_slide(k, &wide.job, is_inverse, is_done);
    }
    if (conv_merged(k, j) > 1 && j->workspace.buffer && !type_obstacle(k, j, from)) {
        conv_wide wide;
        kiln_status status = conv_merge(k, j, true, true, &wide);
        return status ? status : conv_tensor_slide(k, &wide.job, is_inverse, is_done);
    }
    const char *why = obstacle(k, j, from);
    if (why)
        return refuse(k, j, why);
    if (conv_has_thin_result(k, j, is_inverse) && j->workspace.buffer) {
        conv_wide wide;
        kiln_status status = conv_widen_result(k, j, true, &wide);
        if (!status)
            status = conv_tensor_slide(k, &wide.job, is_inverse, is_done);
        kiln_view own = kiln_view_slice(wide.from, 1, 0, (int64_t)j->large.view->sizes[1], 1);
        return status || !*is_done
                   ? status
                   : kiln_copy_view(k, &(kiln_copy_view_desc){
                                           .in = own, .out = *j->large.view, .stream = j->stream});
    }
    conv_weights weight;
    if (!find_weights(k, j, is_inverse, &weight)) {
        if (!j->workspace.buffer)
            return refuse(k, j, "there is no workspace, and the weights must be packed");
        kiln_view to = kiln_view_of(j->workspace.buffer, weight.view.rank, weight.view.sizes);
        to.type = j->type;
        to.first = 2 * j->workspace.first;
        kiln_status status = kiln_elementwise_forward(
            k, &(kiln_elementwise_desc){
                   .op = KILN_EW_COPY, .in = {weight.view}, .out = to, .stream = j->stream});
        if (status)
            return status;
        weight.view = to;
    }
    *is_done = true;
    return conv_sm90_is_possible(k, j, is_inverse) ? conv_sm90_launch(k, j, is_inverse, &weight)
                                                   : launch(k, j, is_inverse, &weight.view);
}

// --- the gradient by the weights: parts[chunk, output channel, taps…, channel] and their sum
typedef struct split {
    uint32_t tile_m, tile_n, chunks;
    uint64_t chunk, elements;
} split;

static split split_of(const conv_job *j, const kiln_view *small)
{
    enum { BLOCKS = 264, LEAST = 256, STEP = 64 };
    const kiln_view *w = j->weight.view;
    uint64_t channels = w->sizes[0] / j->groups, length = kiln_view_count(*w) / w->sizes[0];
    uint64_t places = kiln_view_count(*small) / small->sizes[1];
    split s = {.tile_m = channels <= 64 ? 64 : 128};
    s.tile_n = s.tile_m;
    uint64_t tiles = op_ceil_div(channels, s.tile_m) * op_ceil_div(length, s.tile_n) * j->groups;
    uint64_t most = op_ceil_div(places, LEAST), chunks = op_ceil_div(BLOCKS, tiles);
    chunks = chunks < most ? chunks : most;
    s.chunk = op_ceil_div(op_ceil_div(places, chunks ? chunks : 1), STEP) * STEP;
    s.chunks = (uint32_t)op_ceil_div(places, s.chunk ? s.chunk : 1);
    s.elements = s.chunks > 1 ? s.chunks * kiln_view_count(*w) : 0;
    return s;
}

uint64_t conv_tensor_weights_workspace(kiln *k, const conv_job *j, const kiln_view *large,
                                       const kiln_view *small)
{
    kiln_matmul_desc product;
    if (!is_wanted(k, j) || is_weights_product(k, j, large, small, &product))
        return 0;
    if (conv_is_thin(k, j, small)) {
        conv_wide wide;
        conv_widen(k, j, small, 0, false, false, &wide);
        return wide.elements + conv_tensor_weights_workspace(k, &wide.job, large, &wide.from);
    }
    if (conv_is_thin(k, j, large)) {
        conv_wide wide;
        conv_widen(k, j, large, 1, false, false, &wide);
        return wide.elements + conv_tensor_weights_workspace(k, &wide.job, &wide.from, small);
    }
    if (conv_merged(k, j) > 1) {
        conv_wide wide;
        conv_merge(k, j, false, false, &wide);
        return conv_tensor_weights_workspace(k, &wide.job, large, small);
    }
    if (weights_obstacle(k, j, large, small))
        return 0;
    uint32_t parts = conv_sm90_weights_parts(k, j, large, small);
    return parts == 1 ? 0
           : parts    ? parts * kiln_view_count(*j->weight.view)
                      : split_of(j, small).elements;
}

conv_weights_to conv_weights_to_of(const conv_job *j, const kiln_view *to)
{
    uint32_t terms = (uint32_t)j->weight.view->sizes[1];
    conv_weights_to s = {.terms = terms,
                         .channels = (uint32_t)to->sizes[1],
                         .place = j->fold.pairs ? j->fold.pairs * j->fold.channels : terms,
                         .pair = j->fold.pairs ? j->fold.channels : terms,
                         .rows = (uint32_t)to->sizes[0],
                         .pairs = j->fold.pairs ? j->fold.pairs : 1,
                         .per = (uint32_t)to->sizes[0] / j->groups / (j->merged ? j->merged : 1),
                         .merged = j->merged ? j->merged : 1};
    op_window_sizes(j->weight.view, s.lines);
    op_window_sizes(to, s.taps);
    op_window_steps(to, s.to);
    s.is_whole = !j->fold.pairs && s.channels == terms && conv_is_granular(to);
    return s;
}

// The sum over the parts, into weights that lie anyhow, and may have fewer channels.
static kiln_status add_parts(kiln *k, const conv_job *j, uint32_t parts, conv_weights_to s,
                             const kiln_view *to)
{
    enum { EACH = 128 }; // elements of a block
    uint64_t elements = kiln_view_count(*j->weight.view);
    op_request r = {.program = &weights_add};
    op_set(&r, T_TEXT, j->type == KILN_F16);
    const kiln_arg args[] = {
        kiln_arg_view(j->workspace), kiln_arg_view(*to), kiln_arg_i64(KILN_U32, parts),
        kiln_arg_i64(KILN_U64, (int64_t)elements), kiln_arg_struct(&s, sizeof s)};
    return op_launch_blocks(k, &r, op_ceil_div(elements, EACH), args, COUNT(args), j->stream);
}

// The product of the places of both tensors, in parts, on tensor cores.
static kiln_status run_implicit_weights(kiln *k, const conv_job *j, const kiln_view *large,
                                        const kiln_view *small, const kiln_view *to)
{
    split s = split_of(j, small);
    bool is_whole = s.chunks == 1;
    op_window w;
    op_window_make(large, small, j->window, &w);
    op_window_sizes(j->weight.view, w.taps);
    w.per_group = (uint32_t)(small->sizes[1] / j->groups);
    w.terms = (uint32_t)(large->sizes[1] / j->groups);
    uint64_t length = kiln_view_count(*j->weight.view) / j->weight.view->sizes[0];
    uint64_t blocks = op_ceil_div(w.per_group, s.tile_m) * op_ceil_div(length, s.tile_n);
    op_request r = {.program = &implicit_weights};
    op_set(&r, T, j->type == KILN_F16);
    op_set(&r, SPACE, j->space);
    op_set(&r, LONG, w.batch > INT32_MAX);
    op_set(&r, BM, s.tile_m);
    op_set(&r, BN, s.tile_n);
    op_set(&r, WHOLE, is_whole);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(k, &r, &kernel);
    if (!status && (blocks > INT32_MAX || j->groups > 65535))
        status = error_set(k, KILN_E_LAUNCH, K6015, "%s: %llu tiles are too many for one launch",
                           j->call, (unsigned long long)blocks);
    if (status)
        return status;
    const conv_weights_to all = conv_weights_to_of(j, to);
    const kiln_arg args[] = {kiln_arg_view(*large),
                             kiln_arg_view(*small),
                             kiln_arg_view(is_whole ? *to : j->workspace),
                             kiln_arg_struct(&w, sizeof w),
                             kiln_arg_i64(KILN_U64, (int64_t)s.chunk),
                             kiln_arg_struct(&all, sizeof all)};
    status = kiln_launch(kernel->kernel,
                         &(kiln_launch_desc){.grid = {(uint32_t)blocks, j->groups, s.chunks},
                                             .shared_bytes = kernel->shared_bytes,
                                             .args = args,
                                             .arg_count = COUNT(args) - !is_whole,
                                             .stream = j->stream});
    return status || is_whole ? status : add_parts(k, j, s.chunks, all, to);
}

// The gradient by the operand, which adds the parts if it can.
static kiln_status run_beside(kiln *k, const conv_job *j, uint32_t parts, const kiln_view *to)
{
    conv_job beside = *j->beside;
    kiln_matmul_desc product;
    bool is_done, adds = parts > 1 && j->has_both && kiln_view_is_dense(*to) &&
                         view_is_aligned(to, 2 * GRANULE) &&
                         is_product(&beside, j->beside_is_inverse, &product);
    const conv_adds all = {.parts = j->workspace, .to = *to, .count = parts};
    if (adds)
        beside.adds = &all;
    kiln_status status = conv_tensor_slide(k, &beside, j->beside_is_inverse, &is_done);
    return status || adds || parts == 1 ? status
                                        : add_parts(k, j, parts, conv_weights_to_of(j, to), to);
}

// `to` are the weights; those of the job may have more channels.
static kiln_status weights_to(kiln *k, const conv_job *j, const kiln_view *large,
                              const kiln_view *small, const kiln_view *to, bool *is_done)
{
    *is_done = false;
    if (!is_wanted(k, j) || !kiln_view_count(*j->weight.view))
        return KILN_OK;
    kiln_matmul_desc product;
    if (is_weights_product(k, j, large, small, &product)) {
        *is_done = true;
        return kiln_matmul(k, &product);
    }
    if (conv_is_thin(k, j, small) && j->workspace.buffer) {
        conv_wide wide;
        bool has_small = j->has_small && *j->has_small;
        kiln_status status = conv_widen(k, j, small, 0, false, !has_small, &wide);
        return status ? status : weights_to(k, &wide.job, large, &wide.from, to, is_done);
    }
    if (conv_is_thin(k, j, large) && j->workspace.buffer && !obstacle(k, j, small)) {
        conv_wide wide;
        kiln_status status = conv_widen(k, j, large, 1, false, true, &wide);
        return status ? status : weights_to(k, &wide.job, &wide.from, small, to, is_done);
    }
    if (conv_merged(k, j) > 1) {
        conv_wide wide;
        conv_merge(k, j, false, false, &wide);
        return weights_to(k, &wide.job, large, small, to, is_done);
    }
    const char *why = weights_obstacle(k, j, large, small);
    uint32_t parts = why ? 0 : conv_sm90_weights_parts(k, j, large, small);
    if (!why && !j->workspace.buffer && (parts ? parts > 1 : split_of(j, small).elements))
        why = "there is no workspace for parts of the sums";
    if (why)
        return refuse(k, j, why);
    if (parts) {
        kiln_status launched = conv_sm90_weights_launch(k, j, large, small, to);
        *is_done = !launched;
        if (!launched && j->beside)
            return run_beside(k, j, parts, to);
        return launched || parts == 1 ? launched
                                      : add_parts(k, j, parts, conv_weights_to_of(j, to), to);
    }
    kiln_status status = run_implicit_weights(k, j, large, small, to);
    *is_done = !status;
    return status;
}

bool conv_tensor_is_beside(kiln *k, const conv_job *to_x, bool is_inverse,
                           const conv_job *to_weight)
{
    const kiln_view *from = is_inverse ? to_x->small.view : to_x->large.view,
                    *large = to_weight->large.view, *small = to_weight->small.view;
    kiln_matmul_desc product;
    conv_weights weight;
    if (!is_wanted(k, to_x) || obstacle(k, to_x, from) ||
        conv_has_thin_result(k, to_x, is_inverse) || !kiln_view_count(*to_weight->weight.view) ||
        weights_obstacle(k, to_weight, large, small) ||
        is_weights_product(k, to_weight, large, small, &product))
        return false;
    uint32_t parts = conv_sm90_weights_parts(k, to_weight, large, small);
    if (!parts || (parts > 1 && !to_weight->workspace.buffer))
        return false;
    flat one;
    if (is_product(to_x, is_inverse, &product))
        return conv_sm90_weights_are_row(k, to_weight, large, small) &&
               is_flat(k, to_x, is_inverse, &one, &weight);
    return conv_sm90_is_possible(k, to_x, is_inverse) && find_weights(k, to_x, is_inverse, &weight);
}

kiln_status conv_tensor_weights(kiln *k, const conv_job *j, const kiln_view *large,
                                const kiln_view *small, bool *is_done)
{
    return weights_to(k, j, large, small, j->weight.view, is_done);
}
