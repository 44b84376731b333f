// kiln/overlap.h: kernels of the ops that may start while the one before still runs.
//
// KERNEL_OVERLAPS at file scope tells the host (ops/op.h). kernel_begin comes before the first
// access to memory, and before any return: the next kernel may then start as well, and what the one
// before has written can be read.
#ifndef KILN_OVERLAP_H
#define KILN_OVERLAP_H

#include <kiln/kernel.h>

#define KERNEL_OVERLAPS enum { OVERLAPS = 1 };

static inline void kernel_begin(void)
{
#if __KILN_TARGET_SM__ >= 90
    next_kernel_launch();
    previous_kernel_wait();
#endif
}

#endif
