// How across.c is launched (host_across.h).
#include "ops/softmax/host_across.h"

#include "ops/checks.h"
#include "ops/launch.h"
#include "rt/memory/view.h"

#define AXES "ops/softmax/axes.def"
#include "ops/axes.h"

static const op_program program = OP_PROGRAM("ops/softmax/across.c", "softmax_across");

bool softmax_across(kiln *k, op_rows_call *c, bool is_log, kiln_stream *stream, kiln_status *status)
{
    enum { SHORTEST = 64, LONG = 1024, WIDE = 4, PACK = 16 };
    const kiln_view *x = c->operands->view;
    uint64_t width = PACK / view_element_size(x), columns = x->sizes[c->axis], inner = 1;
    for (uint32_t d = c->axis + 1; d < x->rank; d++)
        inner *= x->sizes[d];
    if (inner == 1 || inner % width || columns < SHORTEST || !op_rows_is_dense(c))
        return false;
    uint64_t packs = inner / width, others = kiln_view_count(*x) / columns / inner;
    op_rows_add_operands(c, c->count, NULL);
    op_rows_add(c, kiln_arg_i64(KILN_U32, (int64_t)others));
    op_rows_add(c, kiln_arg_i64(KILN_U32, (int64_t)columns));
    op_rows_add(c, kiln_arg_i64(KILN_U32, (int64_t)packs));
    op_request *r = &c->request;
    r->program = &program;
    op_set(r, T, op_type_float_axis(kiln_view_type(*x)));
    op_set(r, V, width);
    op_set(r, IN_PLACE, c->is_in_place);
    op_set(r, THREADS, columns >= LONG ? 1024 : 256);
    op_set(r, BACKWARD, c->count == 3);
    op_set(r, LOG, is_log);
    *status =
        op_launch_blocks(k, r, op_ceil_div(others * packs, WIDE), c->args, c->arg_count, stream);
    return true;
}
