// The cpu as a device: buffers, streams, events and graphs are the interpreter's (the same host
// memory), launches go to machine code.
#include "dev/cpu/cpu.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static const kiln_caps caps = {
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
};

static kiln_status open_device(kiln *k, int ordinal)
{
    if (ordinal > 0)
        return error_set(NULL, KILN_E_NOT_FOUND, K6001, "there is one cpu device: 'cpu'");
    kiln_status status = interp_device.open(k, 0);
    k->caps = caps;
    k->guards_buffers = true;
    snprintf(k->device, sizeof k->device, "cpu");
    k->target = "cpu";
    return status;
}

static kiln_status info(const kiln *k, kiln_device_info *out)
{
    kiln_status status = interp_device.info(k, out);
    const char *why, *why_not_quick, *compiler = cpu_compiler(&why);
    bool is_quick = quick_is_here(&why_not_quick);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(out->device, sizeof out->device, "cpu");
    snprintf(out->target, sizeof out->target, "cpu");
    out->caps = caps;
    out->multiprocessors = cores > 0 ? (uint32_t)cores : 1;
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
    return status;
}

// Answers are about the machine code.
static kiln_status resources(const kiln_kernel *kernel, kiln_resources *out)
{
    kiln *k = kernel->module->k;
    __atomic_store_n(&k->cancel, 0, __ATOMIC_RELAXED);
    if (!cpu_wait(kernel->module))
        return error_set(k, KILN_E_CANCELLED, K6029,
                         "kernel '%s': waiting for its machine code was cancelled", kernel->name);
    return interp_device.resources(kernel, out);
}

static device_ops ops;

static void make_ops(void)
{
    ops = interp_device;
    ops.name = "cpu";
    ops.open = open_device;
    ops.info = info;
    ops.resources = resources;
    ops.take = cpu_take;
    ops.tensor_map = NULL;
    ops.unload = cpu_unload;
}

const device_ops *cpu_device(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_ops);
    return &ops;
}
