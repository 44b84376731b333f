// Runs a kernel that the host's C compiler compiled: every thread of a block is a fiber, blocks run
// one after another, all on the calling thread.
#ifndef KILN_TEST_FIBER_H
#define KILN_TEST_FIBER_H

#include <stddef.h>
#include <stdint.h>

typedef void host_call(void *const *args); // unpacks args and calls the kernel

// One kernel of a compiled corpus file; a table of them, ended by a NULL name, is what the
// generated wrapper of each file exports (see corpus_wrapper).
typedef struct host_kernel {
    const char *name;
    host_call *call;
    int (*check)(void *const *args); // the test's own opinion of the results; may be NULL
    const size_t *sizes;             // of each argument's element or scalar
} host_kernel;

typedef struct host_launch {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    host_call *call;
    void *const *args;
} host_launch;

// NULL when every thread came to its end; else a sentence that says why not.
const char *host_run(const host_launch *launch);

#endif
