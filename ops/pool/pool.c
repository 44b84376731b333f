// kiln_pool_forward and kiln_pool_backward: windows over the space of a tensor (ops/window.h), one
// launch of kernel.c.
#include "kiln/ops.h"

#include "ops/window.h"

#define AXES "ops/pool/axes.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/pool/kernel.c", "pool");

enum { THREADS = 256 };

typedef struct job {
    const char *call;
    const kiln_pool_shape *shape;
    op_operand large, small, indices;
    bool is_backward;
    kiln_stream *stream;
} job;

// Sizes of the window; none given: all of the space.
static uint64_t taps_of(const job *j, uint32_t d)
{
    return j->shape->size[d] ? j->shape->size[d] : j->large.view->sizes[2 + d];
}

static kiln_status check_space(kiln *k, const job *j, uint32_t d)
{
    kiln_window w = j->shape->window;
    uint64_t taps = taps_of(j, d), dilation = w.dilation[d] ? w.dilation[d] : 1;
    if (j->shape->is_adaptive)
        return j->large.view->sizes[2 + d] && j->large.view->sizes[2 + d] <= INT32_MAX &&
                       j->small.view->sizes[2 + d] <= INT32_MAX
                   ? KILN_OK
                   : op_refuse(k, j->call, "'%s' has no element along dimension %u of space",
                               j->large.name, d);
    if (w.pad_before[d] >= dilation * (taps - 1) + 1 || w.pad_after[d] >= dilation * (taps - 1) + 1)
        return op_refuse(k, j->call,
                         "along dimension %u of space the padding is as long as the window", d);
    w.stride[d] = w.stride[d] ? w.stride[d] : (uint32_t)taps;
    return op_window_check(k, j->call, &j->large, &j->small, d, taps, &w, true);
}

static kiln_status check(kiln *k, const job *j)
{
    const kiln_view *large = j->large.view, *small = j->small.view;
    kiln_type type = kiln_view_type(*large);
    const op_operand operands[] = {j->large, j->small, j->indices};
    kiln_status status = op_check_operands(k, j->call, operands, COUNT(operands), NULL);
    if (status)
        return status;
    if ((unsigned)j->shape->kind > KILN_POOL_AVERAGE)
        return op_refuse(k, j->call, "there is no pooling %d", (int)j->shape->kind);
    if (type != KILN_F32 && type != KILN_F16 && type != KILN_BF16 && type != KILN_F64)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: '%s' is %s; bf16, f16, f32 and f64 are possible", j->call,
                         j->large.name, kiln_type_name(type));
    status = op_check_type(k, j->call, &j->small, type);
    if (!status && (large->rank < 3 || large->rank > 5 || small->rank != large->rank ||
                    large->sizes[0] != small->sizes[0] || large->sizes[1] != small->sizes[1] ||
                    large->sizes[1] > INT32_MAX))
        status =
            op_refuse(k, j->call,
                      "'%s' and '%s' must be [batch, channels, space…] with the same batch and "
                      "channels",
                      j->large.name, j->small.name);
    for (uint32_t d = 0; d + 2 < large->rank && !status; d++)
        status = check_space(k, j, d);
    if (!status && j->indices.view->buffer) {
        kiln_type index = kiln_view_type(*j->indices.view);
        if (j->shape->kind != KILN_POOL_MAX)
            return op_refuse(k, j->call, "an average has no indices");
        if (index != KILN_I32 && index != KILN_I64)
            return error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: 'indices' is %s, not i32 or i64",
                             j->call, kiln_type_name(index));
        status = op_check_sizes(k, j->call, &j->indices, &j->small);
    }
    if (!status && !j->indices.view->buffer && j->is_backward && j->shape->kind == KILN_POOL_MAX)
        status = op_refuse(k, j->call,
                           "'indices' is missing: kiln_pool_forward gives them, and a maximum has "
                           "no gradient without them");
    return status;
}

static kiln_status run(kiln *k, const job *j)
{
    const kiln_view *from = j->is_backward ? j->small.view : j->large.view;
    const kiln_view *to = j->is_backward ? j->large.view : j->small.view;
    const kiln_view *views[] = {from, to, j->indices.view};
    bool has_indices = j->indices.view->buffer;
    kiln_type type = kiln_view_type(*to);
    kiln_status status = check(k, j);
    if (status || !kiln_view_count(*to))
        return status;
    op_window w;
    op_window_make(from, to, &j->shape->window, &w);
    w.count = kiln_view_count(*to);
    w.channels = (uint32_t)to->sizes[1];
    uint32_t space = to->rank - 2, first = WINDOW_SPACE - space;
    for (uint32_t d = 0; d < space; d++) {
        w.taps[first + d] = (uint32_t)taps_of(j, d);
        if (!j->shape->window.stride[d])
            w.stride[first + d] = w.taps[first + d];
    }
    op_request r = {.program = &program};
    op_set(&r, T, type == KILN_BF16 ? 0 : type == KILN_F16 ? 1 : type == KILN_F32 ? 2 : 3);
    op_set(&r, MAX, j->shape->kind == KILN_POOL_MAX);
    op_set(&r, BACKWARD, j->is_backward);
    op_set(&r, ADAPTIVE, j->shape->is_adaptive);
    op_set(&r, ALL_COUNT, j->shape->counts_padding);
    op_set(&r, HAS_INDICES, has_indices);
    if (has_indices) {
        op_window_steps(j->indices.view, w.other);
        op_set(&r, INDEX, kiln_view_type(*j->indices.view) == KILN_I64);
    }
    op_set(&r, SPACE, space);
    op_set(&r, LONG, w.count > INT32_MAX);
    op_set(&r, CHANNELS_LAST, w.to[1] == 1 || w.to[1] == -1);
    return op_window_launch(k, j->call, &r, &w, views, has_indices ? 3 : 2,
                            (w.count + THREADS - 1) / THREADS, j->stream);
}

kiln_status kiln_pool_forward(kiln *k, const kiln_pool_desc *d)
{
    static const char call[] = "kiln_pool_forward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    return run(k, &(job){.call = call,
                         .shape = &d->shape,
                         .large = {.name = "x", .view = &d->x},
                         .small = {.name = "out", .view = &d->out, .is_result = true},
                         .indices = {.name = "indices",
                                     .view = &d->indices,
                                     .is_result = true,
                                     .is_optional = true},
                         .stream = d->stream});
}

kiln_status kiln_pool_backward(kiln *k, const kiln_pool_backward_desc *d)
{
    static const char call[] = "kiln_pool_backward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    return run(k, &(job){.call = call,
                         .shape = &d->shape,
                         .large = {.name = "dx", .view = &d->dx, .is_result = true},
                         .small = {.name = "dout", .view = &d->dout},
                         .indices = {.name = "indices", .view = &d->indices, .is_optional = true},
                         .is_backward = true,
                         .stream = d->stream});
}
