// kiln/overlap.h: kernels of the ops that may start while the one before still runs.
//
// KERNEL_OVERLAPS at file scope tells the host (ops/op.h). kernel_begin comes before the first
// access to memory, and before any return: the next kernel may then start as well, and what the one
// before has written can be read. Its two halves may stand apart: kernel_launch_next at once,
// kernel_wait_previous before the first access and any return. What lies between, arguments and
// prefetches above all, runs beside the kernel before. Devices before sm_90 have no such thing.
#ifndef KILN_OVERLAP_H
#define KILN_OVERLAP_H

#include <kiln/kernel.h>

#if __KILN_TARGET_SM__ >= 90
#    define KERNEL_OVERLAPS enum { OVERLAPS = 1 };
static inline void kernel_launch_next(void)
{
    next_kernel_launch();
}

static inline void kernel_wait_previous(void)
{
    previous_kernel_wait();
}
#else
#    define KERNEL_OVERLAPS enum { OVERLAPS = 0 };
static inline void kernel_launch_next(void) {}
static inline void kernel_wait_previous(void) {}
#endif

static inline void kernel_begin(void)
{
    kernel_launch_next();
    kernel_wait_previous();
}

#endif
