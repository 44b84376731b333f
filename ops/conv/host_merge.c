// Convolutions with groups of few channels on tensor cores: several groups become one, with zeros
// where a channel does not read another (merge.c). Tiles have 64 channels at least, so the zeros
// cost no product that would not be made, and every place is read as one line.
#include "ops/conv/host_conv.h"

#include "ops/window.h"

#define AXES "ops/conv/axes_merge.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/conv/merge.c", "conv_merge");

enum { GRANULE = 8, TILE = 64, LINE = 64 }; // channels; elements that a copy is rounded up to

typedef struct merge_shape { // as merge.c has it
    uint32_t count, eights, taps[WINDOW_SPACE], small, large, merged;
    int64_t from[5];
} merge_shape;

uint32_t conv_merged(kiln *k, const conv_job *j)
{
    uint64_t groups = j->groups, large = j->large.view->sizes[1] / groups,
             small = j->small.view->sizes[1] / groups, most = large > small ? large : small;
    if (groups < 2 || !large || !small || (large == 1 && small == 1) ||
        j->kernel == KILN_CONV_SM80 || !conv_tensor_is_possible(k, j))
        return 1;
    for (uint32_t n = (uint32_t)(TILE / most); n > 1; n--)
        if (groups % n == 0 && n * large % GRANULE == 0 && n * small % GRANULE == 0)
            return n;
    return 1;
}

static kiln_status fill(kiln *k, const conv_job *j, uint32_t merged, const kiln_view *to)
{
    enum { THREADS = 256 };
    const kiln_view *from = j->weight.view;
    uint64_t count = kiln_view_count(*to) / GRANULE;
    merge_shape s = {.count = (uint32_t)count,
                     .eights = (uint32_t)to->sizes[1] / GRANULE,
                     .small = (uint32_t)from->sizes[0] / j->groups,
                     .large = (uint32_t)from->sizes[1],
                     .merged = merged};
    op_window_sizes(from, s.taps);
    op_window_steps(from, s.from);
    op_request r = {.program = &program};
    op_set(&r, T, j->type == KILN_F16);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(k, &r, &kernel);
    if (!status && count > UINT32_MAX / 2)
        status = error_set(k, KILN_E_LAUNCH, K6015, "%s: the weights are too large for one launch",
                           j->call);
    const kiln_arg args[] = {kiln_arg_view(*from), kiln_arg_view(*to),
                             kiln_arg_struct(&s, sizeof s)};
    return status ? status
                  : kiln_launch(
                        kernel->kernel,
                        &(kiln_launch_desc){.grid = {(uint32_t)((count + THREADS - 1) / THREADS)},
                                            .args = args,
                                            .arg_count = COUNT(args),
                                            .stream = j->stream,
                                            .overlaps_previous = kernel->overlaps});
}

kiln_status conv_merge(kiln *k, const conv_job *j, bool has_weights, bool copies, conv_wide *out)
{
    uint32_t merged = conv_merged(k, j), rank = j->weight.view->rank, order[KILN_MAX_RANK];
    const kiln_view *from = j->weight.view;
    uint64_t sizes[KILN_MAX_RANK] = {from->sizes[0]};
    for (uint32_t d = 1; d + 1 < rank; d++)
        sizes[d] = from->sizes[d + 1];
    sizes[rank - 1] = from->sizes[1] * merged;
    for (uint32_t d = 0; d < rank; d++)
        order[d] = d == 1 ? rank - 1 : d ? d - 1 : 0;
    // Where the size is asked for there is no workspace yet.
    bool has_memory = has_weights && j->workspace.buffer;
    kiln_view to = kiln_view_of(has_memory ? j->workspace.buffer : from->buffer, rank, sizes);
    to.type = j->type;
    to.first = has_memory ? 2 * j->workspace.first : 0;
    out->weight = kiln_view_permute(to, order);
    out->elements = has_weights ? (kiln_view_count(to) + LINE - 1) / LINE * (LINE / 2) : 0;
    out->job = *j;
    out->job.groups = j->groups / merged;
    out->job.weight.view = &out->weight;
    out->job.has_wide_weight |= !has_weights;
    out->job.merged = merged;
    out->job.workspace.first += out->elements;
    return copies ? fill(k, j, merged, &out->weight) : KILN_OK;
}
