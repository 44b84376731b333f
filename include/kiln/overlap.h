// kiln/overlap.h: kernels of the ops that may start while the one before still runs.
//
// KERNEL_OVERLAPS at file scope tells the host (ops/op.h). kernel_begin comes before the first
// access to memory, and before any return: the next kernel may then start as well, and what the one
// before has written can be read. A kernel that has to find its place first calls its two halves:
// kernel_announce at once, kernel_await before the first access and before any return. What lies
// between, reading of arguments above all, runs beside the kernel before. Devices before sm_90 have
// no such thing.
#ifndef KILN_OVERLAP_H
#define KILN_OVERLAP_H

#include <kiln/kernel.h>

#if __KILN_TARGET_SM__ >= 90
#    define KERNEL_OVERLAPS enum { OVERLAPS = 1 };
static inline void kernel_announce(void)
{
    next_kernel_launch();
}
static inline void kernel_await(void)
{
    previous_kernel_wait();
}
#else
#    define KERNEL_OVERLAPS enum { OVERLAPS = 0 };
static inline void kernel_announce(void) {}
static inline void kernel_await(void) {}
#endif

static inline void kernel_begin(void)
{
    kernel_announce();
    kernel_await();
}

#endif
