// kiln_check: checks the launch as kiln_launch does, makes the shadow, runs the grid on the
// interpreter with the hooks of step.c and hands the findings out.
#include <stdlib.h>
#include <sys/mman.h>

#include "dev/interp/device.h"
#include "rt/check/check.h"

enum { DEFAULT_STEPS = 1 << 26 };

typedef struct job {
    kiln_kernel *kernel;
    const kiln_check_desc *desc;
    const rt_launch *launch;
    check k;
    struct shadow_block {
        void *at;
        size_t bytes;
    } * owned;
    size_t owned_count;
    size_t *findings;
} job;

// Zeroed. A shadow is many times what it shadows, but only the pages that are touched cost memory.
static void *allocate(job *j, uint64_t bytes)
{
    bytes = bytes ? bytes : 1;
    void *at = MAP_FAILED;
    if (bytes < (uint64_t)1 << 46)
        at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        bug_out_of_memory();
    j->owned[j->owned_count].at = at;
    j->owned[j->owned_count++].bytes = (size_t)bytes;
    return at;
}

// Only what a kernel may write to needs cells: buffers behind a pointer to non-const.
static void make_rows(job *j)
{
    check *k = &j->k;
    const kiln_kernel *kernel = j->kernel;
    const host_device *context = host_of(kernel->module->k);
    k->rows = allocate(j, (uint64_t)context->row_count * sizeof *k->rows);
    k->row_count = context->row_count;
    for (size_t n = 0; n < kernel->param_count; n++) {
        const kiln_param_info *p = &kernel->params[n].info;
        if (p->kind != KILN_PARAM_POINTER)
            continue;
        uint64_t row = j->launch->args[n].bits >> INTERP_SEGMENT_BITS;
        if (row >= k->row_count || !row)
            continue;
        row_shadow *s = &k->rows[row];
        bool is_own = n < kernel->param_count - kernel->hidden_count;
        s->is_unset |= is_own && j->desc->is_unset && j->desc->is_unset[n];
        if (!s->words && (k->engine.writes || (k->engine.reads && !p->is_const)))
            s->words = allocate(j, global_bytes(context->rows[row].size));
        if (!p->is_const && !s->cells)
            s->cells =
                allocate(j, (context->rows[row].size / k->program->granule + 1) * sizeof(cell));
    }
}

// Behind the kernel's own parameters stands the heap, when it has one.
static void make_heap(job *j)
{
    const kiln_kernel *kernel = j->kernel;
    const host_device *context = host_of(kernel->module->k);
    if (!kernel->uses_heap)
        return;
    uint64_t address = j->launch->args[kernel->param_count - kernel->hidden_count].bits;
    const interp_buffer *row = &context->rows[address >> INTERP_SEGMENT_BITS];
    heap_watch_make(&j->k, address, row, allocate(j, heap_watch_bytes(row->size)));
    j->k.wants_leaks = j->desc->leaks;
}

static void make_shadow(job *j)
{
    check *k = &j->k;
    const interp_program *p = k->program;
    const uint32_t *block = j->launch->block;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2],
             warps = (threads + LANES - 1) / LANES;
    const uint32_t *cluster = j->launch->cluster;
    runner_sizes z = {interp_dynamic_offset(p) + j->launch->shared_bytes, threads, 1};
    for (int axis = 0; axis < 3; axis++)
        z.blocks *= cluster[axis] ? cluster[axis] : 1;
    j->owned = arena_array(k->a, struct shadow_block, 2 * j->kernel->param_count + 9);
    k->shared_stride = z.shared / p->granule + 2;
    k->shared = allocate(j, z.blocks * k->shared_stride * sizeof(cell));
    if (z.blocks > 1)
        cluster_make(k, &z, p->granule, allocate(j, cluster_bytes(&z, p->granule)));
    if (p->has_nv) {
        const uint32_t *grid = j->launch->grid;
        async_make(k, &z, allocate(j, async_bytes(&z)));
        k->engine = global_use_of(p);
        if (k->engine.reads)
            k->global_fences =
                allocate(j, global_fence_bytes((uint64_t)grid[0] * grid[1] * grid[2] * threads));
    }
    k->sync = allocate(j, warps * sizeof *k->sync);
    k->local_stride = p->local_bytes * LANES;
    k->local_set = allocate(j, warps * k->local_stride);
    k->slot_count = p->reg_bytes / LANES + 2;
    k->unset_lanes = allocate(j, warps * k->slot_count * sizeof *k->unset_lanes);
    make_rows(j);
    make_heap(j);
}

static kiln_status run(job *j)
{
    check *k = &j->k;
    kiln *context = j->kernel->module->k;
    const host_device *d = host_of(context);
    uint64_t steps = j->desc->step_limit ? j->desc->step_limit
                     : d->step_limit     ? d->step_limit
                                         : DEFAULT_STEPS;
    interp_launch launch = {.program = k->program,
                            .shared_bytes = j->launch->shared_bytes,
                            .args = j->launch->args,
                            .buffers = d->rows,
                            .buffer_count = d->row_count,
                            .threads = 1,
                            .step_limit = steps,
                            .cancel = &context->cancel,
                            .print = context_print,
                            .print_user = context,
                            .host = interp_call_host,
                            .host_user = j->kernel,
                            .hooks = &check_hooks,
                            .hook_user = k};
    memcpy(launch.grid, j->launch->grid, sizeof launch.grid);
    memcpy(launch.block, j->launch->block, sizeof launch.block);
    memcpy(launch.cluster, j->launch->cluster, sizeof launch.cluster);
    interp_error error;
    __atomic_store_n(&context->cancel, 0, __ATOMIC_RELAXED);
    interp_run(&launch, &error);
    finding_finish(k, j->desc);
    if (j->findings)
        *j->findings = (size_t)k->finding_count;
    if (error.code == DIAG_NONE)
        return KILN_OK;
    return error_set(context, error.code == K6029 ? KILN_E_CANCELLED : KILN_E_NO_MEMORY, error.code,
                     "%s", error.text);
}

// Apart, so that a jump comes back to a function without variables of its own.
static kiln_status run_guarded(job *j)
{
    bug_frame guard;
    if (bug_enter(&guard))
        return guard.kind == BUG_NO_MEMORY
                   ? error_no_memory(j->kernel->module->k, "the shadow of the kernel's memory")
                   : error_set(j->kernel->module->k, KILN_E_INTERNAL, K9001, "%s", guard.text);
    make_shadow(j);
    kiln_status status = run(j);
    bug_leave(&guard);
    return status;
}

static kiln_status check_launch(kiln_kernel *kernel, const kiln_check_desc *desc,
                                const rt_launch *launch, size_t *findings)
{
    job j = {.kernel = kernel, .desc = desc, .launch = launch, .findings = findings};
    j.k.a = arena_new();
    if (!j.k.a)
        return error_no_memory(kernel->module->k, "kiln_check");
    j.k.releases = map_make(j.k.a);
    j.k.sources = kernel->module->sources;
    const interp_kernel *programs = interp_kernel_of(kernel);
    j.k.program = desc->nan ? programs->nan_program : programs->program;
    j.k.all = desc->all;
    kiln_status status = run_guarded(&j);
    for (size_t n = 0; n < j.owned_count; n++)
        munmap(j.owned[n].at, j.owned[n].bytes);
    arena_free(j.k.a);
    return status;
}

kiln_status kiln_check(kiln_kernel *kernel, const kiln_check_desc *desc, size_t *findings)
{
    if (findings)
        *findings = 0;
    if (!handle_is(HANDLE_KERNEL, kernel))
        return error_bad_handle(HANDLE_KERNEL, kernel);
    kiln *k = kernel->module->k;
    if (!desc)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_check: the description is NULL");
    if (!kernel->module->for_check)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_check: kernel '%s' was not compiled for it: set for_check in the "
                         "kiln_compile_desc, on the device 'interp'",
                         kernel->name);
    rt_arg *args = calloc(kernel->param_count + 1, sizeof *args);
    if (!args)
        return error_no_memory(k, "the arguments of a launch");
    rt_launch launch = {0};
    bool is_empty;
    kiln_status status = launch_check(kernel, &desc->launch, args, &launch, &is_empty);
    if (!status && !is_empty)
        status = check_launch(kernel, desc, &launch, findings);
    free(args);
    return status;
}
