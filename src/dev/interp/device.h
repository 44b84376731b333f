// The interpreter as other devices use it: kernels ready to run, and running them on the segment
// table of a host device (dev/host/host.h).
#ifndef KILN_INTERP_DEVICE_H
#define KILN_INTERP_DEVICE_H

#include "dev/host/host.h"

typedef struct interp_kernel { // the first member of what a device keeps of a kernel
    interp_program *program;
    interp_program *nan_program; // of a module for kiln_check: the same, floats watched, too
} interp_kernel;

static inline interp_kernel *interp_kernel_of(const kiln_kernel *kernel)
{
    return kernel->dev;
}

// Decodes the kernels of `m`, in the order of its table; `size` is of what the device keeps of a
// kernel. Leaves through bug.h when memory is out.
void interp_load_kernels(kiln_module *m, const ir_module *from, size_t size);
// Runs a launch on the interpreter.
kiln_status interp_launch_kernel(kiln_kernel *kernel, const rt_launch *l);

// The same on other arguments and buffers than the launch's and the context's own.
typedef struct interp_memory {
    const rt_arg *args;
    const interp_buffer *buffers;
    uint32_t buffer_count;
    bool takes_host; // as interp_launch has it
} interp_memory;
kiln_status interp_launch_in(kiln_kernel *kernel, const rt_launch *l, const interp_memory *memory);
// The error of a run that failed, on the context.
kiln_status interp_set_error(kiln_kernel *kernel, const interp_error *error);

// interp_launch.host: of a kiln_kernel.
bool interp_call_host(void *kernel, uint32_t site, struct host_lane *lane, char *why, size_t size);

#endif
