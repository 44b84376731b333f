// Host functions at run time: who provides them, and the call of one by one lane. The devices bring
// scalars and addresses; this turns them into C arguments and back.
#ifndef KILN_RT_HOST_H
#define KILN_RT_HOST_H

#include "ir/host.h"
#include "kiln/hostcall.h"
#include "rt/rt.h"

// One lane's call. `in` holds the operands' bits (of a counted parameter: anything, then bytes),
// `out` gets the results'.
typedef struct host_lane {
    uint64_t in[HOST_SCALARS], out[HOST_SCALARS];
    void *counted[HOST_PARAMS]; // where the host may touch the counted objects; NULL when none
    uint32_t thread[3], block[3];
} host_lane;

typedef struct host_row host_row; // of a context's table

// What a module knows of its sites with host functions; made once, by the first launch.
typedef struct host_site {
    host_shape shape;
    bool is_plain; // all parameters are numbers, and so is the result
    const host_row *row;
} host_site;

// All host functions of the kernel are there and fit; else the error is set.
kiln_status host_check(kiln_kernel *kernel);
// The site's shape after host_check, or NULL.
const host_site *host_site_of(const kiln_module *m, uint32_t site);
// False: the function has stopped the kernel; `why` (of `size` bytes) says more.
// `kernel` is its name, for the function that asks.
bool host_call(const char *kernel, const host_site *site, host_lane *lane, char *why, size_t size);
void host_free_all(kiln *k); // at the end of a context
void host_forget(kiln_module *m);

// --- native.c: calls a C function whose parameters are scalars and pointers. False: not possible.
bool native_can_call(const host_shape *shape);
void native_call(const host_shape *shape, void (*function)(void), const void *const *args,
                 void *result);

#endif
