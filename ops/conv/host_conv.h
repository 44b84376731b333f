// What the host files of convolution share: a call after its checks, and the way over tensor cores.
#ifndef KILN_HOST_CONV_H
#define KILN_HOST_CONV_H

#include "ops/window.h"

// Taps of a row, and pairs of rows, that are channels of a copy (host_wide.c); pairs 0: none are.
typedef struct conv_fold {
    uint32_t pairs, channels; // rows of a place, channels of each
} conv_fold;

typedef struct conv_job {
    const char *call;
    op_operand large, small, weight, bias; // as far as they are there
    const kiln_window *window;
    uint32_t space, groups;
    kiln_type type;
    kiln_activation activation;
    kiln_conv_kernel kernel;
    kiln_view workspace;
    kiln_stream *stream;
    conv_fold fold;       // of the weights
    bool has_wide_weight; // the weights are results that have more channels than there are
    uint32_t merged;      // groups that became one (host_merge.c); 0: none did
    bool is_late; // it runs beside the kernel before it, and reads nothing of what that writes
    const struct conv_job
        *beside; // of the gradient by the weights: that by the operand, which is late
    bool beside_is_inverse;
    bool *has_small; // of a backward call: set once the workspace begins with the small tensor's
                     // copy (conv_widen), which is then not made again
    bool has_both;   // gradients: that by the operand can add the parts of that by the weights
    const struct conv_adds *adds; // of a late one: what it adds; NULL: nothing
} conv_job;

// Parts of the gradient by the weights, [count, as many as there are weights] f32, and where their
// sum goes: dense.
typedef struct conv_adds {
    kiln_view parts, to;
    uint32_t count;
} conv_adds;

// The value of the axes T and BIAS.
uint32_t conv_type_axis(kiln_type type);
// The launches of direct.c on tensor cores, where those are there and wanted. is_done: they were
// launched; where that is false the direct kernel is left to do.
kiln_status conv_tensor_slide(kiln *k, const conv_job *j, bool is_inverse, bool *is_done);
kiln_status conv_tensor_weights(kiln *k, const conv_job *j, const kiln_view *large,
                                const kiln_view *small, bool *is_done);
// Can the gradient by the operand run beside that by the weights?
bool conv_tensor_is_beside(kiln *k, const conv_job *to_x, bool is_inverse,
                           const conv_job *to_weight);
// Channels that are no multiple of 8 (host_wide.c): a job with more of them, of zeros, or with the
// taps of a row as channels. `from` is the operand, `which` the dimension of the weights that has
// its channels; without has_weights the weights are results. The first `elements` f32 of the
// workspace have the copies.
typedef struct conv_wide {
    conv_job job; // points into this struct
    kiln_view from, weight;
    kiln_window window;
    uint64_t elements;
} conv_wide;
bool conv_is_thin(kiln *k, const conv_job *j, const kiln_view *from);
kiln_status conv_widen(kiln *k, const conv_job *j, const kiln_view *from, uint32_t which,
                       bool has_weights, bool copies, conv_wide *out);
// The same where a result of the way from the small tensor to the large one has such channels; the
// result is `from`, to be copied.
bool conv_has_thin_result(kiln *k, const conv_job *j, bool is_inverse);
kiln_status conv_widen_result(kiln *k, const conv_job *j, bool copies, conv_wide *out);
// Groups of few channels (host_merge.c): how many become one; the job with fewer groups, whose
// weights are in the workspace, or without has_weights are results.
uint32_t conv_merged(kiln *k, const conv_job *j);
kiln_status conv_merge(kiln *k, const conv_job *j, bool has_weights, bool copies, conv_wide *out);
// A tensor whose channels are not contiguous has a copy with the channels last in the workspace,
// behind the first `elements` f32, where tensor cores can take that; else it stays. The copies are
// made by the caller; nothing is done for a tensor that stays. An operand whose channels are no
// multiple of 8 stays, too: conv_widen copies it.
kiln_view conv_relay(kiln *k, const conv_job *j, const kiln_view *v, bool is_result,
                     uint64_t *elements);
kiln_status conv_relay_copy(kiln *k, const conv_job *j, const kiln_view *from, const kiln_view *to);
// Channels are contiguous, and every place starts at a multiple of 16 bytes.
bool conv_is_granular(const kiln_view *v);
// Are there tensor cores for its type, and are they wanted?
bool conv_tensor_is_possible(kiln *k, const conv_job *j);
// Windows of one element with stride 1, and tensors that are dense with the channels last: the same
// tensors with all places in one row. False: it is another convolution.
bool conv_rows_of(const conv_job *j, const kiln_view *large, const kiln_view *small,
                  kiln_view *large_row, kiln_view *small_row);
// Weights as a kernel takes them: [channel of the results, taps…, channel of the terms] in every
// group. is_across: channels of terms and results have changed places.
typedef struct conv_weights {
    kiln_view view;
    bool is_across;
} conv_weights;
// The kernels for sm_90a (host_sm90.c): whether one is possible; the launch.
bool conv_sm90_is_possible(kiln *k, const conv_job *j, bool is_inverse);
kiln_status conv_sm90_launch(kiln *k, const conv_job *j, bool is_inverse,
                             const conv_weights *weight);
// Blocks that run at the same time in clusters of `share`, which do not fill the groups of
// multiprocessors that they must lie in.
uint64_t conv_sm90_room(uint32_t multiprocessors, uint32_t share);
// The gradient by the weights: where its sums go, as weights_put.h has it.
typedef struct conv_weights_to {
    uint32_t terms, lines[WINDOW_SPACE], taps[WINDOW_SPACE], channels, place, pair, rows, pairs,
        is_whole, per, merged;
    int64_t to[5];
} conv_weights_to;
conv_weights_to conv_weights_to_of(const conv_job *j, const kiln_view *to);
// For sm_90a (host_sm90_weights.c): parts of its sums, each of as many f32 as there are weights, or
// 1, where none are stored; 0: it is not possible. The launch stores parts, or the weights
// themselves.
uint32_t conv_sm90_weights_parts(kiln *k, const conv_job *j, const kiln_view *large,
                                 const kiln_view *small);
// Are all places one row, for both gradients?
bool conv_sm90_weights_are_row(kiln *k, const conv_job *j, const kiln_view *large,
                               const kiln_view *small);
kiln_status conv_sm90_weights_launch(kiln *k, const conv_job *j, const kiln_view *large,
                                     const kiln_view *small, const kiln_view *to);
// Depthwise ones (host_depthwise.c). Neighbouring channels that one access of both tensors may
// have; w: as begin_slide of conv.c fills it in; elements of f32 that the gradient by the weights
// needs, 0: it has no kernel. Without a workspace it is left to do.
uint32_t conv_depthwise_width(kiln_type type, const kiln_view *a, const int64_t a_steps[5],
                              const kiln_view *b, const int64_t b_steps[5]);
kiln_status conv_depthwise_slide(kiln *k, const conv_job *j, bool is_inverse, const op_window *w,
                                 bool *is_done);
uint64_t conv_depthwise_workspace(const conv_job *j, const kiln_view *large,
                                  const kiln_view *small);
kiln_status conv_depthwise_weights(kiln *k, const conv_job *j, const kiln_view *large,
                                   const kiln_view *small, bool *is_done);
// Elements of f32 that those need.
uint64_t conv_tensor_workspace(kiln *k, const conv_job *j, bool is_inverse);
uint64_t conv_tensor_weights_workspace(kiln *k, const conv_job *j, const kiln_view *large,
                                       const kiln_view *small);

#endif
