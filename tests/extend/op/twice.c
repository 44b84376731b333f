// kiln_twice: the smallest op with a kernel of its own.
#include "kiln/ops_twice.h"

#include "ops/operands.h"

#define AXES "ops/twice/axes.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/twice/kernel.c", "twice");

kiln_status kiln_twice(kiln *k, kiln_view x, kiln_view out)
{
    const char *call = "kiln_twice";
    const op_operand o[] = {{.name = "x", .view = &x},
                            {.name = "out", .view = &out, .is_result = true}};
    kiln_status status = op_begin(k, call, &x);
    if (!status)
        status = op_check_operands(k, call, o, COUNT(o), NULL);
    for (uint32_t n = 0; n < COUNT(o) && !status; n++)
        status = op_check_type(k, call, &o[n], KILN_F32);
    if (!status)
        status = op_check_sizes(k, call, &o[1], &o[0]);
    if (!status && !(kiln_view_is_dense(x) && kiln_view_is_dense(out)))
        status = op_refuse(k, call, "the views are not dense");
    uint64_t count = status ? 0 : kiln_view_count(x);
    if (!count)
        return status;
    op_request r = {.program = &program};
    op_set(&r, FACTOR, 2);
    const op_kernel *kernel;
    const kiln_arg args[] = {kiln_arg_view(x), kiln_arg_view(out),
                             kiln_arg_i64(KILN_U64, (int64_t)count)};
    status = op_kernel_get(k, &r, &kernel);
    return status ? status
                  : kiln_launch(kernel->kernel,
                                &(kiln_launch_desc){.grid = {(uint32_t)((count + 255) / 256)},
                                                    .args = args,
                                                    .arg_count = COUNT(args)});
}
