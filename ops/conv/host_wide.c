// Convolutions whose channels are no multiple of 8, as those of a picture: the operand and the
// weights are copied to the workspace with channels of zeros behind their own (host_conv.h). Tensor
// cores then take them as they are.
//
// A few channels and a wide window, as those of the first layer of a network: the taps of a row and
// their channels lie side by side, and become the channels of a window of one column. Neighbouring
// windows share elements of the copy then.
#include "ops/conv/host_conv.h"

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

// `columns` zeros come before the rows of a picture.
static kiln_status copy(kiln *k, const conv_job *j, const kiln_view *from, const kiln_view *to,
                        uint32_t columns)
{
    kiln_pad_desc d = {.x = *from, .out = *to, .mode = KILN_PAD_CONSTANT, .stream = j->stream};
    if (columns)
        d.before[from->rank - 2] = columns;
    return kiln_pad_forward(k, &d);
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

static kiln_status fold(kiln *k, const conv_job *j, const kiln_view *from, uint64_t channels,
                        bool copies, conv_wide *out)
{
    kiln_view x = with_last(*from, 1, false), weight = with_last(*j->weight.view, 1, false);
    uint64_t stride = j->window->stride[1] ? j->window->stride[1] : 1, elements = 0;
    uint64_t taps = weight.sizes[2] + weight.sizes[2] * channels % GRANULE / channels;
    uint64_t folded = taps * channels, places = j->small.view->sizes[3];
    uint64_t own = x.sizes[2] + j->window->pad_before[1], reach = (places - 1) * stride + taps;
    const uint64_t columns = own > reach ? own : reach;
    const uint64_t x_sizes[KILN_MAX_RANK] = {x.sizes[0], x.sizes[1], columns, channels},
                   weight_sizes[KILN_MAX_RANK] = {weight.sizes[0], weight.sizes[1], taps, channels};
    kiln_view copied = take(j, &x, x_sizes, &elements);
    kiln_view copied_weight = take(j, &weight, weight_sizes, &elements);
    kiln_status status = copies ? copy(k, j, &x, &copied, j->window->pad_before[1]) : KILN_OK;
    if (!status && copies)
        status = copy(k, j, &weight, &copied_weight, 0);
    int64_t row = (int64_t)(columns * channels), line = (int64_t)folded;
    copied.has_strides = copied_weight.has_strides = true;
    copied.sizes[1] = copied_weight.sizes[1] = folded;
    copied.strides[1] = copied_weight.strides[1] = 1;
    copied.sizes[2] = x.sizes[1];
    copied.sizes[3] = places;
    copied.strides[0] = row * (int64_t)x.sizes[1];
    copied.strides[2] = row;
    copied.strides[3] = (int64_t)(stride * channels);
    copied_weight.sizes[2] = weight.sizes[1];
    copied_weight.sizes[3] = 1;
    copied_weight.strides[0] = line * (int64_t)weight.sizes[1];
    copied_weight.strides[2] = copied_weight.strides[3] = line;
    *out = (conv_wide){.job = *j, .from = copied, .weight = copied_weight, .elements = elements};
    out->window = *j->window;
    out->window.stride[1] = 1;
    out->window.pad_before[1] = out->window.pad_after[1] = 0;
    out->job.window = &out->window;
    out->job.weight.view = &out->weight;
    out->job.workspace.first += elements;
    return status;
}

kiln_status conv_widen(kiln *k, const conv_job *j, const kiln_view *from, uint32_t which,
                       bool has_weights, bool copies, conv_wide *out)
{
    uint64_t channels = wide_channels(from), elements = 0;
    bool is_forward = has_weights && which == 1;
    if (is_forward && folded_channels(k, j, from))
        return fold(k, j, from, folded_channels(k, j, from), copies, out);
    kiln_view x = with_last(*from, 1, false), weight = with_last(*j->weight.view, which, false);
    kiln_view wide_x = take_wide(j, &x, channels, &elements), wide_weight = weight;
    if (has_weights)
        wide_weight = take_wide(j, &weight, channels, &elements);
    else
        wide_weight.sizes[weight.rank - 1] = channels; // only its sizes are looked at
    kiln_status status = copies ? copy(k, j, &x, &wide_x, 0) : KILN_OK;
    if (!status && copies && has_weights)
        status = copy(k, j, &weight, &wide_weight, 0);
    out->from = with_last(wide_x, 1, true);
    out->weight = with_last(wide_weight, which, true);
    out->elements = elements;
    out->job = *j;
    out->job.weight.view = &out->weight;
    out->job.workspace.first += elements;
    return status;
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
    return copies ? copy(k, j, &weight, &wide_weight, 0) : KILN_OK;
}
