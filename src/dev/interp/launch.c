// Kernels decoded and run by the interpreter, for whichever device.
#include <stdio.h>

#include "dev/interp/device.h"
#include "rt/host/host.h"

void interp_load_kernels(kiln_module *m, const ir_module *from, size_t size)
{
    size_t n = 0;
    for (uint32_t i = 0; i < from->funcs.len; i++) {
        const ir_func *f = from->funcs.at[i];
        if (!f->is_kernel)
            continue;
        kiln_kernel *kernel = m->kernels[n++];
        interp_kernel *k = kernel->dev = arena_alloc(m->a, size);
        k->program = interp_decode_watched(m->a, f, m->for_check ? INTERP_WATCH_MEMORY : 0);
        if (m->for_check)
            k->nan_program = interp_decode_watched(m->a, f, INTERP_WATCH_MEMORY | INTERP_WATCH_NAN);
        kernel->shared_bytes = interp_shared_bytes(k->program);
        kernel->resources = (kiln_resources){.shared_bytes = kernel->shared_bytes,
                                             .block_threads = m->k->caps.block_threads};
    }
}

kiln_status interp_set_error(kiln_kernel *kernel, const interp_error *error)
{
    kiln *k = kernel->module->k;
    kiln_status status = error->code == K6029   ? KILN_E_CANCELLED
                         : error->code == K6004 ? KILN_E_NO_MEMORY
                                                : KILN_E_KERNEL;
    error_set(k, status, error->code, "%s", error->text);
    error_add_place(k, kernel->name, error->file ? error->file : "", error->line, error->column);
    return status;
}

bool interp_call_host(void *kernel, uint32_t site, struct host_lane *lane, char *why, size_t size)
{
    const kiln_kernel *k = kernel;
    const host_site *at = host_site_of(k->module, site);
    if (!at) {
        snprintf(why, size, "the host function is not known");
        return false;
    }
    return host_call(k->name, at, lane, why, size);
}

kiln_status interp_launch_kernel(kiln_kernel *kernel, const rt_launch *l)
{
    const host_device *d = host_of(kernel->module->k);
    return interp_launch_in(
        kernel, l,
        &(interp_memory){.args = l->args, .buffers = d->rows, .buffer_count = d->row_count});
}

kiln_status interp_launch_in(kiln_kernel *kernel, const rt_launch *l, const interp_memory *memory)
{
    kiln *k = kernel->module->k;
    const host_device *d = host_of(k);
    if (kernel->module->for_check) // its program wants the shadow memory of a check
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kernel '%s' was compiled for kiln_check: compile it without for_check to "
                         "launch it",
                         kernel->name);
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    // The blocks of a cooperative launch may wait for one another: they take turns.
    bool is_together = l->is_cooperative && blocks > 1;
    if (is_together && blocks > INTERP_TOGETHER)
        return error_set(k, KILN_E_UNSUPPORTED, K6038,
                         "kernel '%s': a cooperative launch of %llu blocks: %s runs at most %d at "
                         "the same time",
                         kernel->name, (unsigned long long)blocks, k->device, INTERP_TOGETHER);
    interp_launch launch = {.program = interp_kernel_of(kernel)->program,
                            .shared_bytes = l->shared_bytes,
                            .args = memory->args,
                            .buffers = memory->buffers,
                            .buffer_count = memory->buffer_count,
                            .takes_host = memory->takes_host,
                            .threads = d->threads,
                            .step_limit = d->step_limit,
                            .cancel = &k->cancel,
                            .taken = &k->blocks_taken,
                            .is_together = is_together,
                            .print = context_print,
                            .print_user = k,
                            .host = interp_call_host,
                            .host_user = kernel};
    memcpy(launch.grid, l->grid, sizeof launch.grid);
    memcpy(launch.block, l->block, sizeof launch.block);
    memcpy(launch.cluster, l->cluster, sizeof launch.cluster);
    interp_error error;
    if (interp_run(&launch, &error))
        return k->has_lost_print ? error_no_memory(k, "the kernel's output") : KILN_OK;
    return interp_set_error(kernel, &error);
}
