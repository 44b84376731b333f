// What a library adds to the driver that runs nothing, so that it runs kernels: tests/sass plays
// machine code. Without it the symbols are not there.
#ifndef KILN_TESTS_FAKE_MACHINE_H
#define KILN_TESTS_FAKE_MACHINE_H

#include "handles.h"

typedef struct machine_launch {
    unsigned grid[3], threads[3], shared_bytes, stack_bytes;
} machine_launch;

// false: it failed, and said why on the standard error
__attribute__((weak)) bool machine_run(cu_function f, const machine_launch *launch, void **params);
// NULL: it has none of that name
__attribute__((weak)) void *machine_variable(cu_module m, const char *name, size_t *bytes);
__attribute__((weak)) void machine_forget(cu_module m);

#endif
