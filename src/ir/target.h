// What kernels are compiled for: a name, what the device behind it can do, and the back end that
// makes its code. Each device has its own targets (dev/device.h); the compiler knows them by this
// struct alone.
#ifndef KILN_TARGET_H
#define KILN_TARGET_H

#include "base/base.h"
#include "kiln/kiln.h"

struct target {
    const char *name;           // "sm_90a"
    const char *family;         // "cuda": the one that target_is_…() and __KILN_TARGET_…__ name
    kiln_caps caps;             // what target_…() answers
    bool barriers_wait_for_all; // also for threads that have returned
    bool has_no_goto;           // pass exits makes control plain for it
    bool has_no_calls;          // every call is inlined; recursion is refused
    bool has_costly_calls;      // every call is inlined, but for recursion
    const struct backend *backend; // back/back.h; NULL: the device runs IR
    // NVIDIA's
    int sm;                                    // 90
    char variant;                              // 'a' or 0
    int ptx;                                   // 80 is PTX 8.0
    uint32_t shared_limit, registers, threads; // of a block; of a multiprocessor
    uint32_t blocks, shared_sm;                // of a multiprocessor
};

// The interpreter, which defines what IR means: the target when none is given.
extern const struct target target_interp;

#endif
