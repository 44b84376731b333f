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

// Lanes that call together, without counted objects.
enum { HOST_LANES = 32 };
typedef struct host_group {
    uint32_t lanes;                // those that call
    uint32_t lane;                 // of `thread`
    uint32_t thread[3], block[3];  // who calls
    uint32_t size[2];              // x and y of the block
    uint32_t (*words)[HOST_LANES]; // [row][lane]: operands; afterwards 0, then results
} host_group;

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
// A function believes its count: it must be that of the objects that have come.
bool host_are_counted(const host_shape *s, const host_lane *lane);
// False: the function has stopped the kernel; `why` (of `size` bytes) says more.
// `kernel` is its name, for the function that asks.
bool host_call(const char *kernel, const host_site *site, host_lane *lane, char *why, size_t size);
// The same for all lanes that call together. False: the one that is in `group` now has stopped
// the kernel, and those behind it did not call.
bool host_call_group(const char *kernel, const host_site *site, host_group *group, char *why,
                     size_t size);
// A function that takes the calls of several lanes at once, beside the one for a single call. It
// stops no kernel.
typedef void host_together(void *user, const kiln_host_call *calls, uint32_t count);
void host_set_together(kiln *k, const char *name, host_together *together);
// Kernels must declare the function so that its arguments travel in this way (ir/host.h): a service
// relies on its counts and structs, which the signature does not say.
void host_set_shape(kiln *k, const char *name, const char *shape);
// kiln_host_register for the library's own functions, which may come while a kernel runs.
kiln_status host_provide(kiln *k, const kiln_host_desc *desc);
bool host_is_together(const host_site *site);
void host_call_together(const char *kernel, const host_site *site, host_lane *const *lanes,
                        uint32_t count); // at most HOST_LANES
// `thread` is this lane's, which is not before the one that it was.
static inline void host_go_to(host_group *g, uint32_t lane)
{
    g->thread[0] += lane - g->lane;
    g->lane = lane;
    while (g->thread[0] >= g->size[0]) {
        g->thread[0] -= g->size[0];
        if (++g->thread[1] < g->size[1])
            continue;
        g->thread[1] = 0;
        g->thread[2]++;
    }
}
void host_free_all(kiln *k); // at the end of a context
void host_forget(kiln_module *m);

// --- native.c: calls a C function whose parameters are scalars and pointers. False: not possible.
bool native_can_call(const host_shape *shape);
void native_call(const host_shape *shape, void (*function)(void), const void *const *args,
                 void *result);

#endif
