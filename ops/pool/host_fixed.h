// Pooling by small windows without gaps: the kernels fixed.c and fixed_backward.c.
#ifndef KILN_POOL_HOST_FIXED_H
#define KILN_POOL_HOST_FIXED_H

#include "ops/window.h"

typedef struct pool_fixed_desc {
    const op_request *request; // with the axes of the description
    const op_window *window;
    const kiln_view *views[3]; // what is read, what is written, indices or NULL
    bool is_backward;
    kiln_stream *stream;
} pool_fixed_desc;

// False: these kernels do not have such windows, or so many results.
bool pool_run_fixed(kiln *k, const pool_fixed_desc *d, kiln_status *status);

#endif
