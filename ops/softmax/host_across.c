// How across.c is launched (host_across.h).
#include "ops/softmax/host_across.h"

#include "rt/memory/view.h"

#define AXES "ops/softmax/axes.def"
#include "ops/axes.h"

static const op_program program = OP_PROGRAM("ops/softmax/across.c", "softmax_across");

bool softmax_across(kiln *k, const op_rows_call *c, bool is_log, kiln_stream *stream,
                    kiln_status *status)
{
    enum { SHORTEST = 64, LONG = 1024, WIDE = 4, PACK = 16, ARGS = 6 };
    const kiln_view *x = c->operands->view;
    uint64_t size = view_element_size(x), width = PACK / size, columns = x->sizes[c->axis];
    uint64_t inner = 1, count = kiln_view_count(*x);
    kiln_arg args[ARGS];
    uint32_t used = 0;
    for (uint32_t d = c->axis + 1; d < x->rank; d++)
        inner *= x->sizes[d];
    if (inner == 1 || inner % width || columns < SHORTEST || count > INT32_MAX)
        return false;
    for (uint32_t n = 0; n < c->count; n++) {
        const kiln_view *v = c->operands[n].view;
        if (!kiln_view_is_dense(*v) || (v->buffer->address + v->first * size) % PACK)
            return false;
        args[used++] = kiln_arg_view(*v);
    }
    uint64_t packs = inner / width, others = count / columns / inner;
    args[used++] = kiln_arg_i64(KILN_U32, (int64_t)others);
    args[used++] = kiln_arg_i64(KILN_U32, (int64_t)columns);
    args[used++] = kiln_arg_i64(KILN_U32, (int64_t)packs);
    op_request r = {.program = &program};
    kiln_type type = kiln_view_type(*x);
    op_set(&r, T, type == KILN_BF16 ? 0 : type == KILN_F16 ? 1 : 2);
    op_set(&r, V, width);
    op_set(&r, IN_PLACE, c->is_in_place);
    op_set(&r, THREADS, columns >= LONG ? 1024 : 256);
    op_set(&r, BACKWARD, c->count == 3);
    op_set(&r, LOG, is_log);
    const op_kernel *kernel;
    *status = op_kernel_get(k, &r, &kernel);
    if (!*status)
        *status = kiln_launch(
            kernel->kernel,
            &(kiln_launch_desc){.grid = {(uint32_t)((others * packs + WIDE - 1) / WIDE)},
                                .args = args,
                                .arg_count = used,
                                .stream = stream,
                                .overlaps_previous = kernel->overlaps});
    return true;
}
