// The kernels of a PTX text that the user wrote, and what their parameters look like.
#ifndef KILN_PTX_ENTRIES_H
#define KILN_PTX_ENTRIES_H

#include "rt/rt.h"

typedef struct ptx_entry {
    const char *name;
    rt_param *params;
    size_t param_count;
    uint32_t block[3]; // of .reqntid, or zeros
    uint32_t line;
} ptx_entry;
typedef vec(ptx_entry) ptx_entries;

// Everything goes into `a`; texts that are no PTX give no entries (the driver says what is wrong
// with them).
void ptx_find_entries(arena *a, str code, ptx_entries *out);

#endif
