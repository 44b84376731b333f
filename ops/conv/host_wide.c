// Convolutions whose channels are no multiple of 8, as those of a picture: the operand and the
// weights are copied to the workspace with channels of zeros behind their own (host_conv.h). Tensor
// cores then take them as they are.
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

// A dense view in the workspace with `channels` behind the other dimensions of v, which are in the
// order of memory then; `elements` f32 of the workspace are taken.
static kiln_view take(const conv_job *j, const kiln_view *v, uint64_t channels, uint64_t *elements)
{
    uint64_t sizes[KILN_MAX_RANK], count = channels;
    for (uint32_t d = 0; d + 1 < v->rank; d++) {
        sizes[d] = v->sizes[d];
        count *= sizes[d];
    }
    sizes[v->rank - 1] = channels;
    // Where the size is asked for there is no workspace yet.
    kiln_view out =
        kiln_view_of(j->workspace.buffer ? j->workspace.buffer : v->buffer, v->rank, sizes);
    out.type = j->type;
    out.first = j->workspace.buffer ? 2 * (j->workspace.first + *elements) : 0;
    *elements += (count + LINE - 1) / LINE * (LINE / 2);
    return out;
}

static kiln_status copy(kiln *k, const conv_job *j, const kiln_view *from, const kiln_view *to)
{
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

kiln_status conv_widen(kiln *k, const conv_job *j, const kiln_view *from, uint32_t which,
                       bool has_weights, bool copies, conv_wide *out)
{
    uint64_t channels = wide_channels(from), elements = 0;
    kiln_view x = with_last(*from, 1, false), weight = with_last(*j->weight.view, which, false);
    kiln_view wide_x = take(j, &x, channels, &elements), wide_weight = weight;
    if (has_weights)
        wide_weight = take(j, &weight, channels, &elements);
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
    out->job.workspace.first += elements;
    return status;
}
