// Windows that slide over a tensor [batch, channels, space…] on the host: what convolution and
// pooling share. The kernels include kiln/window.h. The tensor that a window slides over is the
// large one; the small one has an element for every place of the window.
#ifndef KILN_OP_WINDOW_H
#define KILN_OP_WINDOW_H

#include "kiln/ops.h"
#include "ops/operands.h"

enum { WINDOW_SPACE = 3 };

typedef struct op_window { // `struct window` of the kernels
    uint64_t count, batch;
    uint32_t terms, per_group, channels;
    uint32_t from_space[WINDOW_SPACE], to_space[WINDOW_SPACE], taps[WINDOW_SPACE];
    uint32_t stride[WINDOW_SPACE], dilation[WINDOW_SPACE];
    uint32_t pad[WINDOW_SPACE], pad_after[WINDOW_SPACE];
    int64_t from[5], to[5], weight[5], group, other[5];
} op_window;

// Does a window of `taps` elements slide over `large` as often as `small` has elements, along
// dimension d of space? rounds_up: a last window may reach beyond the end.
kiln_status op_window_check(kiln *k, const char *call, const op_operand *large,
                            const op_operand *small, uint32_t d, uint64_t taps,
                            const kiln_window *window, bool rounds_up);
// Sizes and steps of space, strides of the window; `from` and `to` are of the same rank.
void op_window_make(const kiln_view *from, const kiln_view *to, const kiln_window *window,
                    op_window *out);
// Steps of a tensor: batch, channel, three of space.
void op_window_steps(const kiln_view *v, int64_t steps[5]);
// The last dimensions as three of space; 1 where there is none.
void op_window_sizes(const kiln_view *v, uint32_t sizes[WINDOW_SPACE]);
kiln_status op_window_launch(kiln *k, const char *call, const op_request *r, const op_window *w,
                             const kiln_view *const *views, uint32_t count, uint64_t blocks,
                             kiln_stream *stream);

#endif
