// The path of every launch on a GPU. After a kernel's first launch there is no allocation, no lock,
// no look-up and no module work here: the arguments were checked into one array, the driver gets
// pointers into it. Each launch leaves a note in its stream's ring; now and then the GPU is asked
// to write how far it is, so that a fault finds the kernel that made it.
#include "dev/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>

void cuda_fill_params(const kiln_kernel *kernel, const rt_arg *args, void **params)
{
    size_t count = kernel->param_count;
    for (size_t n = 0; n < count; n++) {
        const void *at = args[n].bytes ? args[n].bytes : &args[n].bits;
        memcpy(&params[n], &at, sizeof at);
    }
    if (kernel->talks)
        params[count] = &cuda_module_of(kernel->module)->channel->header;
}

kiln_status cuda_raise_shared(kiln_kernel *kernel, size_t bytes)
{
    kiln *k = kernel->module->k;
    cu_result r = cuda_of(k)->cu->function_set(cuda_kernel_of(kernel)->function,
                                               CU_FN_MAX_DYNAMIC_SHARED, (int)bytes);
    if (r)
        return cuda_fail(k, r, "asking for more shared memory");
    cuda_kernel_of(kernel)->dynamic_limit = bytes;
    return KILN_OK;
}

// The driver keeps a stack for every thread that fits on the GPU; it grows and stays.
kiln_status cuda_raise_stack(kiln_kernel *kernel)
{
    kiln *k = kernel->module->k;
    cuda_device *d = cuda_of(k);
    size_t now = 0;
    if (kernel->stack_bytes <= d->stack_limit || !d->cu->set_limit)
        return KILN_OK;
    cu_result r = d->cu->get_limit ? d->cu->get_limit(&now, CU_LIMIT_STACK) : CU_OK;
    if (!r && now < kernel->stack_bytes)
        r = d->cu->set_limit(CU_LIMIT_STACK, kernel->stack_bytes);
    if (r) {
        char doing[256];
        snprintf(doing, sizeof doing,
                 "asking for %llu bytes of stack a thread, which the recursion of kernel '%s' may "
                 "need (its limit is set with recursion(n))",
                 (unsigned long long)kernel->stack_bytes, kernel->name);
        return cuda_fail(k, r, doing);
    }
    d->stack_limit = kernel->stack_bytes;
    return KILN_OK;
}

static kiln_status refused(kiln_kernel *kernel, const rt_launch *l, cu_result r)
{
    kiln *k = kernel->module->k;
    char driver[256], doing[512];
    if (cuda_is_fault(r))
        return cuda_fail(k, r, "launching");
    cuda_describe(cuda_of(k)->cu, r, driver, sizeof driver);
    const char *why =
        r == CU_LAUNCH_OUT_OF_RESOURCES
            ? ": the block needs more registers or shared memory than there are"
        : r == CU_COOPERATIVE_TOO_LARGE
            ? ": the blocks of a cooperative launch do not all fit on the GPU at the same time"
        : r == CU_INVALID_CLUSTER_SIZE
            ? ": the cluster's size is not possible, or the grid is no multiple of it"
            : "";
    snprintf(doing, sizeof doing,
             "kernel '%s' cannot be launched with grid %u x %u x %u, block %u x %u x %u, %zu bytes "
             "of dynamic shared memory%s",
             kernel->name, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
             l->block[2], l->shared_bytes, why);
    error_set(k, KILN_E_LAUNCH, K6034, "%s [%s]", doing, driver);
    error_add_kernel(k, kernel);
    return KILN_E_LAUNCH;
}

static cu_result launch_with_attributes(const cuda_device *d, const kiln_kernel *kernel,
                                        const rt_launch *l, bool overlaps, cu_stream stream,
                                        void **params)
{
    cu_launch_attribute attributes[3];
    cu_launch_config config = {.grid_x = l->grid[0],
                               .grid_y = l->grid[1],
                               .grid_z = l->grid[2],
                               .block_x = l->block[0],
                               .block_y = l->block[1],
                               .block_z = l->block[2],
                               .shared_bytes = (unsigned)l->shared_bytes,
                               .stream = stream,
                               .attributes = attributes};
    memset(attributes, 0, sizeof attributes);
    if (l->cluster[0]) {
        cu_launch_attribute *a = &attributes[config.attribute_count++];
        a->id = CU_LAUNCH_CLUSTER;
        a->value.cluster.x = l->cluster[0];
        a->value.cluster.y = l->cluster[1];
        a->value.cluster.z = l->cluster[2];
    }
    if (l->is_cooperative) {
        attributes[config.attribute_count].id = CU_LAUNCH_COOPERATIVE;
        attributes[config.attribute_count++].value.cooperative = 1;
    }
    if (overlaps) {
        attributes[config.attribute_count].id = CU_LAUNCH_PROGRAMMATIC;
        attributes[config.attribute_count++].value.programmatic = 1;
    }
    return d->cu->launch_ex(&config, cuda_kernel_of(kernel)->function, params, NULL);
}

void cuda_add_note(cuda_device *d, cuda_stream *s, const kiln_kernel *kernel, const rt_launch *l)
{
    launch_note *note = &s->ring[s->launched++ % LAUNCH_RING];
    note->order = ++d->launches;
    note->kernel = kernel;
    if (l) {
        memcpy(note->grid, l->grid, sizeof note->grid);
        memcpy(note->block, l->block, sizeof note->block);
    }
    if (s->launched % d->mark_every == 0 && d->cu->stream_write)
        if (d->cu->stream_write(s->native, d->marks_at + s->slot * sizeof(uint32_t), s->launched,
                                0) != CU_OK)
            d->mark_every = UINT32_MAX; // this driver cannot
}

static kiln_status launch_in(kiln_kernel *kernel, const rt_launch *l, void **params)
{
    kiln *k = kernel->module->k;
    cuda_device *d = cuda_of(k);
    cuda_stream *s = cuda_stream_of(k, l->stream);
    rt_launch wider;
    kiln_status status = cuda_ready(k);
    if (status)
        return status;
    if (kernel->talks) {
        cuda_channel *channel = cuda_module_of(kernel->module)->channel;
        if (channel->fault->is_set) // of an earlier launch
            return cuda_sync(k, NULL);
        if (kernel->calls_host && (status = cuda_calls_start(kernel, l)) != KILN_OK)
            return status;
        if (kernel->carries) {
            wider = *l;
            wider.shared_bytes = cuda_ring_bytes(kernel, l);
            l = &wider;
        }
        if (channel->tail)
            cuda_printer_wake(d);
        channel->is_dirty = d->has_talked = true;
    }
    if (l->shared_bytes > cuda_kernel_of(kernel)->dynamic_limit &&
        (status = cuda_raise_shared(kernel, l->shared_bytes)) != KILN_OK)
        return status;
    if (kernel->stack_bytes > d->stack_limit && (status = cuda_raise_stack(kernel)) != KILN_OK)
        return status;
    cuda_fill_params(kernel, l->args, params);
    // To overlap is an offer: a driver that cannot starts the kernel after the one before it.
    bool overlaps = l->overlaps_previous && d->cu->launch_ex &&
                    (!cuda_is_capturing(s) || d->cu->version >= 12030);
    cu_result r;
    if (!l->cluster[0] && !l->is_cooperative && !overlaps)
        r = d->cu->launch(cuda_kernel_of(kernel)->function, l->grid[0], l->grid[1], l->grid[2],
                          l->block[0], l->block[1], l->block[2], (unsigned)l->shared_bytes,
                          s->native, params, NULL);
    else if (!d->cu->launch_ex)
        return cuda_no_entry(k, "cluster and cooperative launches");
    else
        r = launch_with_attributes(d, kernel, l, overlaps, s->native, params);
    if (r)
        return refused(kernel, l, r);
    if (cuda_is_capturing(s))
        s->capture_talks = s->capture_talks || kernel->talks;
    else
        cuda_add_note(d, s, kernel, l);
    return KILN_OK;
}

kiln_status cuda_launch(kiln_kernel *kernel, const rt_launch *l)
{
    if (kernel->param_count < CUDA_FEW_ARGS) {
        void *params[CUDA_FEW_ARGS];
        return launch_in(kernel, l, params);
    }
    void **params = calloc(kernel->param_count + 1, sizeof *params);
    if (!params)
        return error_no_memory(kernel->module->k, "the arguments of a launch");
    kiln_status status = launch_in(kernel, l, params);
    free(params);
    return status;
}
