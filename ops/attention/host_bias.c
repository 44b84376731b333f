// The gradient of attention's bias: its view is checked, and the kernel of backward_bias.c is
// launched, after the kernels that leave the sum of dO * O for each row.
#include "ops/attention/host_attention.h"
#include "ops/attention/sizes.h"
#include "rt/memory/view.h"

static const op_program program = ATTENTION_PROGRAM("backward_bias.c", "attention_backward_bias");

static kiln_status overlapping(const attention *a, const char *name)
{
    return error_set(a->k, KILN_E_BAD_ARGUMENT, K6003,
                     "%s: '%s' and the result 'dbias' have elements in common", a->op, name);
}

kiln_status attention_check_dbias(const attention *a, const kiln_view *dbias,
                                  const kiln_view *workspace, const tensor *tensors, size_t count)
{
    const kiln_view *bias = &a->mask.bias;
    if (!dbias->buffer)
        return KILN_OK;
    if (!bias->buffer)
        return attention_wrong(a, "'dbias' is given, and there is no bias");
    kiln_status status = view_check_written(a->k, dbias, a->op, "dbias");
    if (status)
        return status;
    if (kiln_view_type(*dbias) != kiln_view_type(*bias))
        return error_set(a->k, KILN_E_BAD_ARGUMENT, K6011, "%s: 'dbias' is %s, and 'bias' is %s",
                         a->op, kiln_type_name(kiln_view_type(*dbias)),
                         kiln_type_name(kiln_view_type(*bias)));
    if (dbias->rank != bias->rank ||
        memcmp(dbias->sizes, bias->sizes, bias->rank * sizeof *bias->sizes) != 0) {
        char given[VIEW_TEXT], wanted[VIEW_TEXT];
        return error_set(a->k, KILN_E_BAD_ARGUMENT, K7004, "%s: 'dbias' is %s, not %s", a->op,
                         view_shape_text(dbias, given), view_shape_text(bias, wanted));
    }
    for (size_t n = 0; n < count; n++)
        if (kiln_view_overlaps(*dbias, *tensors[n].view))
            return overlapping(a, tensors[n].name);
    if (kiln_view_overlaps(*dbias, *bias))
        return overlapping(a, "bias");
    if (a->mask.slopes.buffer && kiln_view_overlaps(*dbias, a->mask.slopes))
        return overlapping(a, "slopes");
    return workspace->buffer && kiln_view_overlaps(*dbias, *workspace) ? overlapping(a, "workspace")
                                                                       : KILN_OK;
}

struct gradient { // as in backward_bias.c
    uint32_t sizes[4], terms[4];
    int64_t by[4];
    uint64_t count;
};

static struct gradient gradient_of(const attention *a, const kiln_view *dbias)
{
    const uint32_t all[] = {a->batch, a->heads, a->queries, a->keys};
    int64_t by[KILN_MAX_RANK] = {0};
    struct gradient g = {.count = kiln_view_count(*dbias)};
    view_strides(dbias, by);
    for (uint32_t n = 0; n < 4; n++) {
        uint32_t missing = 4 - dbias->rank;
        g.sizes[n] = n < missing ? 1 : (uint32_t)dbias->sizes[n - missing];
        g.terms[n] = g.sizes[n] == all[n] ? 1 : all[n];
        g.by[n] = n < missing ? 0 : by[n - missing];
    }
    return g;
}

kiln_status attention_run_dbias(const attention *a, const kiln_view *dbias, const tensor inputs[5],
                                kiln_arg d, kiln_stream *stream)
{
    enum { LANES = 32, INPUTS = 5 };
    struct gradient g = gradient_of(a, dbias);
    if (!g.count)
        return KILN_OK;
    uint64_t terms = 1;
    for (uint32_t n = 0; n < 4; n++)
        terms *= g.terms[n];
    bool is_together = terms >= LANES;
    uint64_t per_block = (uint64_t)PORTABLE_WARPS * (is_together ? 1 : LANES);
    uint64_t blocks = g.count / per_block + (g.count % per_block != 0);
    if (blocks > INT32_MAX)
        return attention_wrong(a, "'dbias' has too many elements");
    op_request r = {.program = &program};
    op_set(&r, TYPE, a->type);
    op_set(&r, ANY_HD, a->head_dim);
    op_set(&r, UNIT, attention_is_unit(inputs, INPUTS));
    op_set(&r, TOGETHER, is_together);
    kiln_arg args[INPUTS + 5 + MASK_ARGS];
    strides by[INPUTS]; // struct tensors of backward_bias.c
    size_t count = 0;
    for (; count < INPUTS; count++) {
        args[count] = kiln_arg_view(*inputs[count].view);
        by[count] = attention_strides(inputs[count].view);
    }
    portable_shape s = attention_portable_shape(a);
    args[count++] = d;
    args[count++] = kiln_arg_view(*dbias);
    args[count++] = kiln_arg_struct(&s, sizeof s);
    args[count++] = kiln_arg_struct(by, sizeof by);
    args[count++] = kiln_arg_struct(&g, sizeof g);
    count = attention_add_mask(a, &r, args, count);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(a->k, &r, &kernel);
    if (status)
        return status;
    return kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {(uint32_t)blocks},
                                                           .args = args,
                                                           .arg_count = count,
                                                           .stream = stream});
}
