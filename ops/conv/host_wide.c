// Convolutions whose channels are no multiple of 8, as those of a picture: the operand and the
// weights are copied to the workspace with channels of zeros behind their own (host_conv.h). Tensor
// cores then take them as they are.
//
// A few channels and a wide window, as those of the first layer of a network: the taps of a row and
// their channels lie side by side, and become the channels of a window of one column. Neighbouring
// windows share elements of the copy then.
#include "ops/conv/host_conv.h"

#define AXES "ops/conv/axes_fold.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/conv/fold.c", "conv_fold");

enum { GRANULE = 8, LINE = 64 }; // channels; elements of 16 bits that a copy is rounded up to

bool conv_is_thin(kiln *k, const conv_job *j, const kiln_view *from)
{
    return from->sizes[1] % GRANULE && j->groups == 1 && k->caps.has_nv &&
           (!k->caps.sm || k->caps.sm >= 80) && (j->type == KILN_F16 || j->type == KILN_BF16);
}

static uint64_t wide_channels(const kiln_view *v)
{
    return (v->sizes[1] + GRANULE - 1) / GRANULE * GRANULE;
}

// A dense view in the workspace; `elements` f32 of it are taken.
static kiln_view take(const conv_job *j, const kiln_view *v, const uint64_t sizes[KILN_MAX_RANK],
                      uint64_t *elements)
{
    uint64_t count = 1;
    for (uint32_t d = 0; d < v->rank; d++)
        count *= sizes[d];
    // Where the size is asked for there is no workspace yet.
    kiln_view out =
        kiln_view_of(j->workspace.buffer ? j->workspace.buffer : v->buffer, v->rank, sizes);
    out.type = j->type;
    out.first = j->workspace.buffer ? 2 * (j->workspace.first + *elements) : 0;
    *elements += (count + LINE - 1) / LINE * (LINE / 2);
    return out;
}

// The same with `channels` in place of the last dimension of v.
static kiln_view take_wide(const conv_job *j, const kiln_view *v, uint64_t channels,
                           uint64_t *elements)
{
    uint64_t sizes[KILN_MAX_RANK];
    memcpy(sizes, v->sizes, sizeof sizes);
    sizes[v->rank - 1] = channels;
    return take(j, v, sizes, elements);
}

// How [outer, row, column, channel] is copied: `pairs` rows become one, of `channels` each.
typedef struct folding {
    uint32_t pairs, channels, above, before;
} folding;

typedef struct fold_shape { // as fold.c has it
    uint32_t rows, columns, eights, from_rows, from_columns, own_channels, above, before;
    uint32_t count;
    int64_t steps[4];
} fold_shape;

static kiln_status copy_folded(kiln *k, const conv_job *j, const kiln_view *from,
                               const kiln_view *to, folding f)
{
    enum { THREADS = 256 };
    uint32_t place = f.pairs * f.channels, places = place < GRANULE ? 2 : 1;
    fold_shape s = {.rows = (uint32_t)to->sizes[1],
                    .columns = (uint32_t)to->sizes[2] / places,
                    .eights = place * places / GRANULE,
                    .from_rows = (uint32_t)from->sizes[1],
                    .from_columns = (uint32_t)from->sizes[2],
                    .own_channels = (uint32_t)from->sizes[3],
                    .above = f.above,
                    .before = f.before,
                    .count = (uint32_t)(kiln_view_count(*to) / GRANULE)};
    for (uint32_t d = 0; d < 4; d++)
        s.steps[d] = kiln_view_stride(*from, d);
    op_request r = {.program = &program};
    op_set(&r, T, j->type == KILN_F16);
    op_set(&r, CHANNELS, f.channels == 4 ? 4 : GRANULE);
    op_set(&r, PAIRS, f.pairs);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(k, &r, &kernel);
    uint64_t blocks = (kiln_view_count(*to) / GRANULE + THREADS - 1) / THREADS;
    if (!status && blocks > UINT32_MAX / THREADS)
        status =
            error_set(k, KILN_E_LAUNCH, K6015, "%s: a copy is too large for one launch", j->call);
    const kiln_arg args[] = {kiln_arg_view(*from), kiln_arg_view(*to),
                             kiln_arg_struct(&s, sizeof s)};
    if (status || !blocks)
        return status;
    return kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {(uint32_t)blocks},
                                                           .args = args,
                                                           .arg_count = COUNT(args),
                                                           .stream = j->stream,
                                                           .overlaps_previous = kernel->overlaps});
}

// Channels are the last dimension of both; `to` has more of them.
static kiln_status copy(kiln *k, const conv_job *j, const kiln_view *from, const kiln_view *to)
{
    if (from->rank == 4)
        return copy_folded(k, j, from, to,
                           (folding){.pairs = 1, .channels = (uint32_t)to->sizes[3]});
    return kiln_pad_forward(
        k,
        &(kiln_pad_desc){.x = *from, .out = *to, .mode = KILN_PAD_CONSTANT, .stream = j->stream});
}

// Dimension `which` becomes the last one; back: the last one becomes dimension `which`.
static kiln_view with_last(kiln_view v, uint32_t which, bool back)
{
    uint32_t order[KILN_MAX_RANK];
    for (uint32_t d = 0, at = 0; d < v.rank; d++)
        if (d != which)
            order[at++] = d;
    order[v.rank - 1] = which;
    if (back) {
        for (uint32_t d = 0, at = 0; d < v.rank; d++)
            order[d] = d == which ? v.rank - 1 : at++;
    }
    return kiln_view_permute(v, order);
}

// Channels of a place of the copy that taps of a row can be folded with; 0: they cannot. Windows
// start at multiples of 16 bytes, and a row of taps is one step of the kernel for sm_90a.
static uint32_t folded_channels(kiln *k, const conv_job *j, const kiln_view *from)
{
    enum { LEAST = 32, MOST = 64 };
    const kiln_window *w = j->window;
    uint64_t taps = j->weight.view->sizes[j->weight.view->rank - 1];
    uint32_t stride = w->stride[1] ? w->stride[1] : 1;
    if (j->space != 2 || j->kernel == KILN_CONV_SM80 || !k->caps.has_wgmma || w->dilation[1] > 1)
        return 0;
    for (uint32_t channels = 4; channels <= GRANULE; channels += 4)
        if (from->sizes[1] <= channels && stride * channels % GRANULE == 0 &&
            taps * channels >= LEAST - 4 && taps * channels <= MOST)
            return channels;
    return 0;
}

// With a stride of 2 along the rows, too, pairs of rows lie side by side: half as many steps.
static bool has_pairs(const conv_job *j, uint64_t channels)
{
    enum { MOST = 64 };
    const uint64_t *taps = j->weight.view->sizes + 2;
    return j->window->stride[0] == 2 && j->window->dilation[0] <= 1 && taps[0] > 1 &&
           j->large.view->sizes[2] > 1 && 2 * channels * taps[1] <= MOST;
}

static kiln_status fold(kiln *k, const conv_job *j, const kiln_view *from, uint64_t channels,
                        bool has_weights, bool copies, conv_wide *out)
{
    kiln_view x = with_last(*from, 1, false), weight = with_last(*j->weight.view, 1, false);
    const kiln_window *window = j->window;
    uint32_t pairs = has_pairs(j, channels) ? 2 : 1, above = pairs == 2 ? window->pad_before[0] : 0;
    uint64_t stride = window->stride[1] ? window->stride[1] : 1, elements = 0;
    uint64_t place = pairs * channels, taps = weight.sizes[2];
    taps += taps * place % GRANULE / channels;
    uint64_t folded = taps * place, places = j->small.view->sizes[3];
    uint64_t own = x.sizes[2] + window->pad_before[1], reach = (places - 1) * stride + taps;
    uint64_t lines = (weight.sizes[1] + pairs - 1) / pairs, rows = x.sizes[1], columns = own;
    if (pairs == 2) {
        uint64_t all = (rows + above + 1) / 2, read = j->small.view->sizes[2] - 1 + lines;
        rows = all > read ? all : read;
    }
    columns = own > reach ? own : reach;
    columns += place < GRANULE && columns % 2; // fold.c stores two such places at a time
    const uint64_t x_sizes[KILN_MAX_RANK] = {x.sizes[0], rows, columns, place},
                   weight_sizes[KILN_MAX_RANK] = {weight.sizes[0], lines, taps, place};
    kiln_view copied = take(j, &x, x_sizes, &elements);
    kiln_view copied_weight = take(j, &weight, weight_sizes, &elements);
    folding f = {.pairs = pairs, .channels = (uint32_t)channels};
    folding of_x = {f.pairs, f.channels, above, window->pad_before[1]};
    kiln_status status = copies ? copy_folded(k, j, &x, &copied, of_x) : KILN_OK;
    if (!status && copies && has_weights)
        status = copy_folded(k, j, &weight, &copied_weight, f);
    int64_t row = (int64_t)(columns * place), line = (int64_t)folded;
    copied.has_strides = copied_weight.has_strides = true;
    copied.sizes[1] = copied_weight.sizes[1] = folded;
    copied.strides[1] = copied_weight.strides[1] = 1;
    copied.sizes[2] = rows;
    copied.sizes[3] = places;
    copied.strides[0] = row * (int64_t)rows;
    copied.strides[2] = row;
    copied.strides[3] = (int64_t)(stride * place);
    copied_weight.sizes[2] = lines;
    copied_weight.sizes[3] = 1;
    copied_weight.strides[0] = line * (int64_t)lines;
    copied_weight.strides[2] = copied_weight.strides[3] = line;
    *out = (conv_wide){.job = *j, .from = copied, .weight = copied_weight, .elements = elements};
    out->window = *window;
    out->window.stride[1] = 1;
    out->window.pad_before[1] = out->window.pad_after[1] = 0;
    if (pairs == 2) {
        out->window.stride[0] = 1;
        out->window.pad_before[0] = out->window.pad_after[0] = 0;
    }
    out->job.window = &out->window;
    out->job.weight.view = &out->weight;
    out->job.workspace.first += elements;
    out->job.fold = (conv_fold){pairs, (uint32_t)channels};
    return status;
}

kiln_status conv_widen(kiln *k, const conv_job *j, const kiln_view *from, uint32_t which,
                       bool has_weights, bool copies, conv_wide *out)
{
    uint64_t channels = wide_channels(from), elements = 0;
    if (which == 1 && folded_channels(k, j, from))
        return fold(k, j, from, folded_channels(k, j, from), has_weights, copies, out);
    kiln_view x = with_last(*from, 1, false), weight = with_last(*j->weight.view, which, false);
    kiln_view wide_x = take_wide(j, &x, channels, &elements), wide_weight = weight;
    if (has_weights)
        wide_weight = take_wide(j, &weight, channels, &elements);
    else
        wide_weight.sizes[weight.rank - 1] = channels; // only its sizes are looked at
    kiln_status status = copies ? copy(k, j, &x, &wide_x) : KILN_OK;
    if (!status && copies && has_weights)
        status = copy(k, j, &weight, &wide_weight);
    out->from = with_last(wide_x, 1, true);
    out->weight = with_last(wide_weight, which, true);
    out->elements = elements;
    out->job = *j;
    out->job.weight.view = &out->weight;
    out->job.has_wide_weight |= !has_weights;
    out->job.workspace.first += elements;
    return status;
}

// --- channels that are not contiguous, as those of pictures plane by plane
kiln_view conv_relay(kiln *k, const conv_job *j, const kiln_view *v, bool is_result,
                     uint64_t *elements)
{
    if (!v->buffer || !kiln_view_count(*v) || !conv_tensor_is_possible(k, j))
        return *v;
    uint64_t own = v->sizes[1] / j->groups, per_group = own * conv_merged(k, j);
    bool is_wide = per_group % GRANULE == 0, is_one = own == 1 && j->groups > 1;
    if (is_one || (!is_wide && !is_result) ||
        (is_wide ? conv_is_granular(v) : kiln_view_stride(*v, 1) == 1 || per_group == 1))
        return *v;
    kiln_view last = with_last(*v, 1, false);
    return with_last(take(j, &last, last.sizes, elements), 1, true);
}

kiln_status conv_relay_copy(kiln *k, const conv_job *j, const kiln_view *from, const kiln_view *to)
{
    bool is_same = from->buffer == to->buffer && from->first == to->first;
    return is_same ? KILN_OK
                   : kiln_copy_view(
                         k, &(kiln_copy_view_desc){.in = *from, .out = *to, .stream = j->stream});
}

// --- results
bool conv_has_thin_result(kiln *k, const conv_job *j, bool is_inverse)
{
    bool has_stride = false, has_bias = j->bias.view && j->bias.view->buffer;
    for (uint32_t d = 0; d < j->space; d++)
        has_stride |= j->window->stride[d] > 1;
    // Without a stride the kernel of sm_80 multiplies little in vain.
    return is_inverse && has_stride && j->large.view->sizes[1] % GRANULE && j->groups == 1 &&
           k->caps.has_wgmma && j->kernel != KILN_CONV_SM80 && !has_bias &&
           j->activation == KILN_ACTIVATION_NONE && (j->type == KILN_F16 || j->type == KILN_BF16);
}

kiln_status conv_widen_result(kiln *k, const conv_job *j, bool copies, conv_wide *out)
{
    uint64_t channels = wide_channels(j->large.view), elements = 0;
    kiln_view to = with_last(*j->large.view, 1, false);
    kiln_view weight = with_last(*j->weight.view, 1, false);
    kiln_view wide_to = take_wide(j, &to, channels, &elements);
    kiln_view wide_weight = take_wide(j, &weight, channels, &elements);
    *out = (conv_wide){.job = *j,
                       .from = with_last(wide_to, 1, true),
                       .weight = with_last(wide_weight, 1, true),
                       .elements = elements};
    out->job.large.view = &out->from;
    out->job.weight.view = &out->weight;
    out->job.workspace.first += elements;
    return copies ? copy(k, j, &weight, &wide_weight) : KILN_OK;
}
