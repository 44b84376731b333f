// Launching: everything is checked before the first thread runs.
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "rt/host/host.h"
#include "rt/report/trace.h"

enum { FEW_ARGS = 64 };

// A shape as it is written: what is left out is 1.
static void set_shape(const uint32_t written[3], uint32_t shape[3])
{
    for (int axis = 0; axis < 3; axis++)
        shape[axis] = written[axis] ? written[axis] : 1;
}

static kiln_status check_block(const kiln_kernel *kernel, const uint32_t given[3],
                               uint32_t block[3])
{
    static const uint32_t limits[3] = {1024, 1024, 64};
    kiln *k = kernel->module->k;
    bool is_given = given[0] || given[1] || given[2];
    bool is_fixed = kernel->block[0] != 0;
    if (!is_given && !is_fixed)
        return error_set(k, KILN_E_LAUNCH, K6015,
                         "kernel '%s' has no block(…): the launch must give the block's size",
                         kernel->name);
    uint64_t threads = 1;
    set_shape(is_fixed ? kernel->block : given, block);
    if (is_fixed && is_given) {
        uint32_t want[3];
        set_shape(given, want);
        if (memcmp(want, block, sizeof want) != 0)
            return error_set(k, KILN_E_LAUNCH, K6015,
                             "kernel '%s' is compiled for blocks of %u x %u x %u, the launch says "
                             "%u x %u x %u",
                             kernel->name, block[0], block[1], block[2], want[0], want[1], want[2]);
    }
    for (int axis = 0; axis < 3; axis++) {
        if (block[axis] > limits[axis])
            return error_set(k, KILN_E_LAUNCH, K6015,
                             "a block of %u threads along %c: at most %u are possible", block[axis],
                             "xyz"[axis], limits[axis]);
        threads *= block[axis];
    }
    if (kernel->max_threads && threads > kernel->max_threads)
        return error_set(
            k, KILN_E_LAUNCH, K6015,
            "a block of %u x %u x %u has %llu threads: kernel '%s' says that it has at "
            "most %u",
            block[0], block[1], block[2], (unsigned long long)threads, kernel->name,
            kernel->max_threads);
    if (threads > k->caps.block_threads)
        return error_set(k, KILN_E_LAUNCH, K6015,
                         "a block of %u x %u x %u has %llu threads: at most %u are possible",
                         block[0], block[1], block[2], (unsigned long long)threads,
                         k->caps.block_threads);
    return KILN_OK;
}

// *is_empty: there is nothing to do.
static kiln_status check_grid(const kiln_kernel *kernel, const kiln_launch_desc *desc,
                              const uint32_t block[3], uint32_t grid[3], bool *is_empty)
{
    static const uint64_t limits[3] = {INT32_MAX, 65535, 65535};
    kiln *k = kernel->module->k;
    bool has_items = desc->items[0] || desc->items[1] || desc->items[2];
    bool has_grid = desc->grid[0] || desc->grid[1] || desc->grid[2];
    if (has_items && has_grid)
        return error_set(k, KILN_E_LAUNCH, K6015,
                         "the launch gives a grid and items: only one of them can decide");
    if (!has_items && !has_grid)
        return error_set(k, KILN_E_LAUNCH, K6015,
                         "the launch gives neither a grid nor items: give the number of blocks or "
                         "of threads, or do not launch when there is nothing to do");
    *is_empty = has_items ? !desc->items[0] : !desc->grid[0];
    for (int axis = 0; axis < 3; axis++) {
        uint64_t count =
            has_items ? desc->items[axis] / block[axis] + (desc->items[axis] % block[axis] != 0)
                      : desc->grid[axis];
        if (count > limits[axis])
            return error_set(k, KILN_E_LAUNCH, K6015,
                             "a grid of %llu blocks along %c: at most %llu are possible",
                             (unsigned long long)count, "xyz"[axis],
                             (unsigned long long)limits[axis]);
        grid[axis] = count ? (uint32_t)count : 1;
    }
    return KILN_OK;
}

static kiln_status check_shared(const kiln_kernel *kernel, size_t dynamic)
{
    uint64_t fixed = kernel->shared_bytes, limit = kernel->module->k->caps.shared_bytes;
    if (dynamic <= limit && fixed <= limit - dynamic)
        return KILN_OK;
    return error_set(kernel->module->k, KILN_E_LAUNCH, K6016,
                     "kernel '%s' needs %llu bytes of shared memory and the launch adds %zu: a "
                     "block has %llu",
                     kernel->name, (unsigned long long)fixed, dynamic, (unsigned long long)limit);
}

static kiln_status check_args(kiln_kernel *kernel, const kiln_launch_desc *desc, rt_arg *args)
{
    kiln *k = kernel->module->k;
    size_t wanted = kernel->param_count - kernel->hidden_count, hidden = wanted;
    bool has_lengths = kernel->hidden_count > kernel->uses_heap;
    uint64_t heap_bytes = 0;
    if (desc->arg_count != wanted)
        return error_set(k, KILN_E_LAUNCH, K6010,
                         "kernel '%s' has %zu parameter%s, the launch gives %zu argument%s",
                         kernel->name, wanted, wanted == 1 ? "" : "s", desc->arg_count,
                         desc->arg_count == 1 ? "" : "s");
    if (desc->arg_count && !desc->args)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_launch: %zu arguments at NULL",
                         desc->arg_count);
    if (kernel->uses_heap) {
        args[hidden] = (rt_arg){0};
        kiln_status status = heap_address(k, desc->stream && desc->stream->is_capturing,
                                          &args[hidden].bits, &heap_bytes);
        if (status)
            return status;
        hidden++;
    }
    for (size_t i = 0; i < desc->arg_count; i++) {
        kiln_status status = arg_check(kernel, i, &desc->args[i], &args[i]);
        if (status)
            return status;
        if (has_lengths && kernel->params[i].info.kind == KILN_PARAM_POINTER)
            args[hidden++] = (rt_arg){.bits = arg_bytes(&desc->args[i])};
    }
    if (has_lengths && kernel->uses_heap)
        args[hidden] = (rt_arg){.bits = heap_bytes};
    return KILN_OK;
}

// *has_any: the launch runs in clusters, of out->cluster blocks; else that is left as it is.
static kiln_status find_cluster(const kiln_kernel *kernel, const uint32_t given[3], rt_launch *out,
                                bool *has_any)
{
    bool is_given = given[0] || given[1] || given[2];
    bool is_fixed = kernel->cluster[0] != 0;
    uint32_t want[3], fixed[3];
    if (!is_given && !is_fixed)
        return KILN_OK;
    set_shape(given, want);
    set_shape(kernel->cluster, fixed);
    if (is_fixed && is_given && memcmp(want, fixed, sizeof want) != 0)
        return error_set(kernel->module->k, KILN_E_LAUNCH, K6015,
                         "kernel '%s' is compiled for clusters of %u x %u x %u blocks, the launch "
                         "says %u x %u x %u",
                         kernel->name, fixed[0], fixed[1], fixed[2], want[0], want[1], want[2]);
    const uint32_t *size = is_fixed ? fixed : want;
    *has_any = size[0] > 1 || size[1] > 1 || size[2] > 1; // a block alone is no cluster
    if (*has_any)
        memcpy(out->cluster, size, sizeof out->cluster);
    return KILN_OK;
}

static kiln_status check_cluster(const kiln_kernel *kernel, const kiln_launch_desc *desc,
                                 rt_launch *out)
{
    kiln *k = kernel->module->k;
    bool has_any = false;
    kiln_status status = find_cluster(kernel, desc->cluster, out, &has_any);
    if (status || !has_any)
        return status;
    if (!k->caps.has_clusters)
        return error_set(k, KILN_E_UNSUPPORTED, K6038,
                         "kernel '%s' cannot be launched in clusters of %u x %u x %u blocks: %s "
                         "has no clusters",
                         kernel->name, out->cluster[0], out->cluster[1], out->cluster[2],
                         k->device);
    for (int axis = 0; axis < 3; axis++)
        if (out->grid[axis] % out->cluster[axis])
            return error_set(k, KILN_E_LAUNCH, K6015,
                             "a grid of %u blocks along %c is no multiple of the cluster's %u",
                             out->grid[axis], "xyz"[axis], out -> cluster[axis]);
    return KILN_OK;
}

// The launch as it was asked for, in the error just set.
static void describe_launch(const kiln_kernel *kernel, const kiln_launch_desc *desc)
{
    kiln *k = kernel->module->k;
    char size[160], block[80] = "";
    const uint32_t *b = desc->block, *g = desc->grid;
    if (desc->items[0] || desc->items[1] || desc->items[2])
        snprintf(size, sizeof size, "items %llu x %llu x %llu", (unsigned long long)desc->items[0],
                 (unsigned long long)(desc->items[1] ? desc->items[1] : 1),
                 (unsigned long long)(desc->items[2] ? desc->items[2] : 1));
    else
        snprintf(size, sizeof size, "grid %u x %u x %u", g[0], g[1] ? g[1] : 1, g[2] ? g[2] : 1);
    if (b[0] || b[1] || b[2])
        snprintf(block, sizeof block, ", block %u x %u x %u", b[0] ? b[0] : 1, b[1] ? b[1] : 1,
                 b[2] ? b[2] : 1);
    error_add_kernel(k, kernel);
    error_add_line(k, "in a launch of kernel '%s' with %s%s", kernel->name, size, block);
}

kiln_status launch_check(kiln_kernel *kernel, const kiln_launch_desc *desc, rt_arg *args,
                         rt_launch *out, bool *is_empty)
{
    *is_empty = false;
    out->shared_bytes = desc->shared_bytes;
    out->args = args;
    out->stream = desc->stream;
    out->is_cooperative = desc->is_cooperative;
    out->overlaps_previous = desc->overlaps_previous;
    kiln_status status = desc->stream ? stream_check(kernel->module->k, desc->stream) : KILN_OK;
    if (!status)
        status = check_args(kernel, desc, args);
    if (!status)
        status = check_block(kernel, desc->block, out->block);
    if (!status)
        status = check_grid(kernel, desc, out->block, out->grid, is_empty);
    if (!status)
        status = check_shared(kernel, desc->shared_bytes);
    if (!status)
        status = check_cluster(kernel, desc, out);
    if (!status && kernel->talks)
        status = host_check(kernel);
    if (status)
        describe_launch(kernel, desc);
    return status;
}

kiln_status kiln_launch(kiln_kernel *kernel, const kiln_launch_desc *desc)
{
    if (!handle_is(HANDLE_KERNEL, kernel))
        return error_bad_handle(HANDLE_KERNEL, kernel);
    kiln *k = kernel->module->k;
    if (!desc)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_launch: the description is NULL");
    rt_arg few[FEW_ARGS], *args = few;
    if (kernel->param_count > FEW_ARGS)
        args = calloc(kernel->param_count, sizeof *args);
    if (!args)
        return error_no_memory(k, "the arguments of a launch");
    rt_launch launch = {0};
    bool is_empty = false;
    kiln_status status = context_may_use(k, "kiln_launch");
    if (!status)
        status = launch_check(kernel, desc, args, &launch, &is_empty);
    if (!status && log_wants(LOG_ALL))
        trace_launch(kernel, &launch);
    if (!status && !is_empty && desc->stream && desc->stream->is_capturing &&
        !uses_add_launch(&desc->stream->uses, kernel, desc->args, desc->arg_count, SIZE_MAX))
        status = error_no_memory(k, "a graph");
    if (!status && !is_empty)
        status = k->ops->launch(kernel, &launch);
    if (args != few)
        free(args);
    return status;
}
