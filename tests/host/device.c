// Runs a test case on the host, and on a Kiln device through the public API alone.
#include "host/corpus.h"

#include <string.h>

static const char *failed(const kiln *k)
{
    const kiln_error *e = kiln_last_error(k);
    return e->text && e->text[0] ? e->text : kiln_status_name(e->status);
}

const char *corpus_run_host(const corpus_case *c, const host_kernel *h, const corpus_data *data)
{
    host_launch launch = {.call = h->call, .args = data->args, .shared_bytes = c->shared_bytes};
    for (int i = 0; i < 3; i++) {
        launch.grid[i] = c->oracle[0] ? 1 : c->grid[i];
        launch.block[i] = c->oracle[0] ? 1 : c->block[i];
    }
    return host_run(&launch);
}

static bool make_buffer(kiln *k, const kiln_param_info *info, const corpus_arg *a, const void *from,
                        kiln_buffer **out)
{
    kiln_status st = info->type == KILN_VOID ? kiln_buffer_new_bytes(k, a->size, a->count, out)
                                             : kiln_buffer_new(k, info->type, a->count, out);
    return st == KILN_OK && kiln_write(*out, 0, from, a->count) == KILN_OK;
}

static kiln_arg by_value(const kiln_param_info *info, const corpus_arg *a, const void *from)
{
    if (info->kind == KILN_PARAM_STRUCT)
        return kiln_arg_struct(from, a->size);
    if (info->type == KILN_F32 || info->type == KILN_F64)
        return kiln_arg_f64(info->type, a->value);
    return kiln_arg_i64(info->type, a->whole);
}

void corpus_learn_sizes(const kiln_module *m, corpus_case *c)
{
    kiln_kernel *kern;
    kiln_param_info info;
    if (kiln_module_kernel(m, c->kernel, &kern) != KILN_OK)
        return;
    for (int i = 0; i < c->arg_count; i++)
        if (!c->args[i].size && kiln_kernel_param(kern, (size_t)i, &info) == KILN_OK)
            c->args[i].size = info.size;
}

const char *corpus_run(kiln *k, kiln_module *m, corpus_case *c, corpus_data *data)
{
    kiln_kernel *kern;
    kiln_buffer *buffers[CORPUS_MAX_ARGS] = {0};
    kiln_arg args[CORPUS_MAX_ARGS];
    kiln_launch_desc desc = {
        .args = args, .arg_count = (size_t)c->arg_count, .shared_bytes = c->shared_bytes};
    const char *problem = NULL;
    memcpy(desc.grid, c->grid, sizeof desc.grid);
    memcpy(desc.block, c->block, sizeof desc.block);
    if (kiln_module_kernel(m, c->kernel, &kern) != KILN_OK)
        return failed(k);
    if (kiln_kernel_param_count(kern) != (size_t)c->arg_count)
        return "the //! line has another number of arguments than the kernel";
    for (int i = 0; i < c->arg_count && !problem; i++) {
        kiln_param_info info;
        if (kiln_kernel_param(kern, (size_t)i, &info) != KILN_OK)
            problem = failed(k);
        else if (c->args[i].is_buffer != (info.kind == KILN_PARAM_POINTER) ||
                 c->args[i].size != info.size)
            problem = "the //! line does not fit the kernel's parameters";
        else if (!c->args[i].is_buffer)
            args[i] = by_value(&info, &c->args[i], data->args[i]);
        else if (make_buffer(k, &info, &c->args[i], data->args[i], &buffers[i]))
            args[i] = kiln_arg_buffer(buffers[i]);
        else
            problem = failed(k);
    }
    if (!problem && (kiln_launch(kern, &desc) != KILN_OK || kiln_sync(k) != KILN_OK))
        problem = failed(k);
    for (int i = 0; i < c->arg_count; i++) {
        if (!problem && buffers[i] &&
            kiln_read(buffers[i], 0, data->args[i], c->args[i].count) != KILN_OK)
            problem = failed(k);
        kiln_buffer_free(buffers[i]);
    }
    return problem;
}
