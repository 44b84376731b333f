// The cpu as a device: host memory and streams are those of dev/host, launches go to machine code,
// and what has none goes to the interpreter.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "back/back.h"
#include "dev/cpu/cpu.h"

static const target cpu_target = {
    .name = "cpu",
    .family = "cpu",
    .has_costly_calls = true, // kernels with calls are interpreted
    .caps =
        {
            .subgroup = 32,
            .block_threads = 1024,
            .shared_bytes = 227 * 1024, // as on the interpreter, which runs some of the launches
            .has_f64 = true,
            .has_f16 = true,
            .has_atomic64 = true,
            .has_cooperative = true,
            .has_host_memory = true,
            .can_cancel = true,
            .is_host = true,
        },
    .backend = &cpu_backend,
};

// --- the device
static kiln_status open_device(kiln *k, int ordinal)
{
    kiln_status status = host_open(k, ordinal, "cpu", &cpu_target, sizeof(host_device));
    if (!status)
        host_of(k)->guards_buffers = true;
    return status;
}

static kiln_status info_at(int ordinal, kiln_device_info *out)
{
    const char *why, *why_not_quick, *compiler = cpu_compiler(&why);
    bool is_quick = quick_is_here(&why_not_quick);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    (void)ordinal;
    *out = (kiln_device_info){.device = "cpu",
                              .target = "cpu",
                              .caps = cpu_target.caps,
                              .multiprocessors = cores > 0 ? (uint32_t)cores : 1};
    if (compiler && is_quick)
        snprintf(out->name, sizeof out->name,
                 "the host's cores, machine code by Kiln at once, then by %.60s", compiler);
    else if (compiler)
        snprintf(out->name, sizeof out->name,
                 "the host's cores, machine code by %.60s (not at once: %s)", compiler,
                 why_not_quick);
    else if (is_quick)
        snprintf(out->name, sizeof out->name,
                 "the host's cores, machine code by Kiln, the rest interpreted: %s", why);
    else
        snprintf(out->name, sizeof out->name, "the host's cores, interpreted: %s", why);
    return KILN_OK;
}

static const target *target_number(size_t index)
{
    return index ? NULL : &cpu_target;
}

// --- code
static const backend *backend_of(const kiln_module *m, const kiln_compile_desc *desc,
                                 const void **options)
{
    (void)options;
    return !m->for_check && tier_wants_code(m, desc->native) ? &cpu_backend : NULL;
}

static kiln_status load(kiln_module *m, const rt_image *image)
{
    interp_load_kernels(m, image->ir, sizeof(cpu_kernel));
    if (!m->for_check)
        tier_load(m, image);
    return KILN_OK;
}

// Answers are about the machine code.
static kiln_status resources(const kiln_kernel *kernel, kiln_resources *out)
{
    kiln *k = kernel->module->k;
    (void)out;
    __atomic_store_n(&k->cancel, 0, __ATOMIC_RELAXED);
    if (!tier_wait(kernel->module))
        return error_set(k, KILN_E_CANCELLED, K6029,
                         "kernel '%s': waiting for its machine code was cancelled", kernel->name);
    return KILN_OK;
}

// --- launches
// The blocks of a cooperative launch may wait for one another, so the interpreter runs it.
static kiln_status choose(kiln_kernel *kernel, const rt_launch *l, const cpu_row **row)
{
    kiln *k = kernel->module->k;
    const cpu_kernel *c = cpu_kernel_of(kernel);
    bool is_together = l->is_cooperative && (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] > 1;
    if (is_together && c->work && !work_can_move(c->work))
        return error_set(k, KILN_E_UNSUPPORTED, K6038,
                         "kernel '%s' uses addresses as values: a cooperative launch of it is not "
                         "possible on %s",
                         kernel->name, k->device);
    *row = is_together ? NULL : tier_choose(kernel, l);
    return KILN_OK;
}

// The interpreter's segments, moved above all addresses of this host: then a pointer of the host is
// not taken for a place in some buffer.
rt_arg *cpu_moved_args(const kiln_kernel *kernel, const rt_launch *l, bool as_host)
{
    const host_device *d = host_of(kernel->module->k);
    rt_arg *args = malloc((kernel->param_count + 1) * sizeof *args);
    for (size_t n = 0; args && n < kernel->param_count; n++) {
        args[n] = l->args[n];
        uint64_t row = args[n].bits >> INTERP_SEGMENT_BITS;
        if (kernel->params[n].info.kind != KILN_PARAM_POINTER || !row || args[n].bytes)
            continue;
        if (as_host && row < d->row_count)
            args[n].bits = (uint64_t)(uintptr_t)d->rows[row].base +
                           (args[n].bits & (((uint64_t)1 << INTERP_SEGMENT_BITS) - 1));
        else
            args[n].bits += interp_address(CPU_ABOVE_HOST, 0);
    }
    return args;
}

interp_buffer *cpu_moved_rows(const host_device *d)
{
    interp_buffer *rows = calloc(d->row_count + CPU_ABOVE_HOST, sizeof *rows);
    if (rows && d->row_count)
        memcpy(rows + CPU_ABOVE_HOST, d->rows, d->row_count * sizeof *rows);
    return rows;
}

// A kernel that keeps addresses leaves and finds those of this host, as machine code does.
static kiln_status interpret(kiln_kernel *kernel, const rt_launch *l)
{
    const cpu_kernel *c = cpu_kernel_of(kernel);
    if (!c->work || work_can_move(c->work))
        return interp_launch_kernel(kernel, l);
    kiln *k = kernel->module->k;
    const host_device *d = host_of(k);
    rt_arg *args = cpu_moved_args(kernel, l, true);
    interp_buffer *rows = cpu_moved_rows(d);
    kiln_status status =
        args && rows
            ? interp_launch_in(kernel, l,
                               &(interp_memory){.args = args,
                                                .buffers = rows,
                                                .buffer_count = d->row_count + CPU_ABOVE_HOST,
                                                .takes_host = true})
            : error_no_memory(k, "a launch");
    free(args);
    free(rows);
    return status;
}

static kiln_status run(kiln_kernel *kernel, const rt_launch *l)
{
    kiln *k = kernel->module->k;
    cpu_kernel *c = cpu_kernel_of(kernel);
    const cpu_row *row = NULL;
    __atomic_store_n(&c->ran, RAN_NOT_YET, __ATOMIC_RELAXED);
    kiln_status status = choose(kernel, l, &row);
    if (status)
        return status;
    cpu_ran ran = !row ? RAN_INTERPRETED : row == c->native ? RAN_COMPILED : RAN_OWN;
    __atomic_store_n(&c->ran, ran, __ATOMIC_RELAXED);
    if (row)
        return cpu_launch(kernel, row, l);
    if (__atomic_load_n(&k->cancel, __ATOMIC_RELAXED)) // while it waited for machine code
        return error_set(k, KILN_E_CANCELLED, K6029, "kernel '%s': the launch was cancelled",
                         kernel->name);
    return interpret(kernel, l);
}

static kiln_status launch(kiln_kernel *kernel, const rt_launch *l)
{
    return host_launch(kernel, l, run);
}

static const char *waits_for(const kiln_kernel *kernel)
{
    return __atomic_load_n(&cpu_kernel_of(kernel)->ran, __ATOMIC_RELAXED) == RAN_NOT_YET
               ? "the C compiler is making its machine code"
               : NULL;
}

static const char *ran_on(const kiln_kernel *kernel)
{
    const cpu_module *m = cpu_module_of(kernel->module);
    bool comes_better = m && m->job;
    switch (cpu_kernel_of(kernel)->ran) {
    case RAN_NOT_YET: return "";
    case RAN_COMPILED: return "machine code by the C compiler";
    case RAN_OWN:
        return comes_better ? "Kiln's own machine code; --repeat waits for the C compiler's"
                            : "Kiln's own machine code";
    case RAN_INTERPRETED:
        return comes_better ? "interpreted; --repeat waits for the C compiler's machine code"
                            : "interpreted";
    }
    return "";
}

const device_ops cpu_device_ops = {
    .can_check = true,
    .calls_host = true,
    .open = open_device,
    .info_at = info_at,
    .target_at = target_number,
    .accepts_target = host_accepts_target,
    .backend = backend_of,
    .load = load,
    .unload = tier_unload,
    .launch = launch,
    .waits_for = waits_for,
    .ran_on = ran_on,
    .resources = resources,
    HOST_OPS,
};
