// Sizes, steps and checks of windows (window.h).
#include "ops/window.h"

#include "ops/launch.h"
#include "rt/memory/view.h"

enum { ARGUMENTS = 5 };

static uint32_t or_one(uint32_t x)
{
    return x ? x : 1;
}

kiln_status op_window_check(kiln *k, const char *call, const op_operand *large_operand,
                            const op_operand *small_operand, uint32_t d, uint64_t taps,
                            const kiln_window *window, bool rounds_up)
{
    uint64_t large = large_operand->view->sizes[2 + d], small = small_operand->view->sizes[2 + d];
    uint64_t dilation = or_one(window->dilation[d]), stride = or_one(window->stride[d]);
    uint64_t padded = large + window->pad_before[d] + window->pad_after[d];
    if (!taps)
        return op_refuse(k, call, "the window has no element along dimension %u of space", d);
    if (taps > INT32_MAX || large > INT32_MAX || small > INT32_MAX || dilation > INT32_MAX ||
        stride > INT32_MAX || padded > INT32_MAX)
        return op_refuse(k, call, "dimension %u of space has 2^31 elements or more", d);
    uint64_t reach = dilation * (taps - 1) + 1;
    if (reach > padded)
        return op_refuse(k, call,
                         "along dimension %u of space the window reaches over %llu elements, and "
                         "'%s' has %llu with its padding",
                         d, (unsigned long long)reach, large_operand->name,
                         (unsigned long long)padded);
    uint64_t wanted = (padded - reach) / stride + 1,
             most = (padded - reach + stride - 1) / stride + 1;
    if (rounds_up && (most - 1) * stride >= large + window->pad_before[d])
        most--; // a window that begins in the padding behind
    if (small != wanted && !(rounds_up && small == most))
        return op_refuse(k, call,
                         "along dimension %u of space '%s' has %llu elements; for %llu of '%s' it "
                         "needs %llu",
                         d, small_operand->name, (unsigned long long)small,
                         (unsigned long long)large, large_operand->name,
                         (unsigned long long)wanted);
    return KILN_OK;
}

void op_window_steps(const kiln_view *v, int64_t steps[5])
{
    int64_t strides[KILN_MAX_RANK];
    view_strides(v, strides);
    steps[0] = strides[0];
    steps[1] = strides[1];
    for (uint32_t d = 0; d < WINDOW_SPACE; d++)
        steps[2 + d] = d + v->rank - 2 >= WINDOW_SPACE ? strides[d + v->rank - WINDOW_SPACE] : 0;
}

void op_window_sizes(const kiln_view *v, uint32_t sizes[WINDOW_SPACE])
{
    for (uint32_t d = 0; d < WINDOW_SPACE; d++)
        sizes[d] =
            d + v->rank - 2 >= WINDOW_SPACE ? (uint32_t)v->sizes[d + v->rank - WINDOW_SPACE] : 1;
}

void op_window_make(const kiln_view *from, const kiln_view *to, const kiln_window *window,
                    op_window *out)
{
    uint32_t first = WINDOW_SPACE + 2 - from->rank;
    *out = (op_window){.batch = kiln_view_count(*to) / (to->sizes[1] ? to->sizes[1] : 1)};
    op_window_sizes(from, out->from_space);
    op_window_sizes(to, out->to_space);
    op_window_steps(from, out->from);
    op_window_steps(to, out->to);
    for (uint32_t d = 0; d < WINDOW_SPACE; d++) {
        out->taps[d] = 1;
        out->stride[d] = d < first ? 1 : or_one(window->stride[d - first]);
        out->dilation[d] = d < first ? 1 : or_one(window->dilation[d - first]);
        out->pad[d] = d < first ? 0 : window->pad_before[d - first];
        out->pad_after[d] = d < first ? 0 : window->pad_after[d - first];
    }
}

kiln_status op_window_launch(kiln *k, const char *call, const op_request *r, const op_window *w,
                             const kiln_view *const *views, uint32_t count, uint64_t blocks,
                             kiln_stream *stream)
{
    kiln_arg args[ARGUMENTS];
    for (uint32_t n = 0; n < count; n++)
        args[n] = kiln_arg_view(*views[n]);
    args[count] = kiln_arg_struct(w, sizeof *w);
    return op_launch(k, &(op_launch_desc){.request = r,
                                          .blocks = blocks,
                                          .call = call,
                                          .units = "results",
                                          .unit_count = w->count,
                                          .args = args,
                                          .arg_count = count + 1,
                                          .stream = stream});
}
