// The functions that calls of the host become where they go through mailboxes. A target's code has
// them compiled beside it (backend.library) and calls them by name.
#ifndef KILN_BACK_LIBRARY_H
#define KILN_BACK_LIBRARY_H

#include "ir/host.h"

const char *library_call(arena *a, const host_shape *s); // the name of the function of such calls
const char *library_line(arena *a, const ir_func *f, const ir_inst *i); // of such printed lines
// Calls may carry objects through dynamic shared memory: no kernel has a use for it.
bool library_has_ring(const ir_module *m);
// NULL: nothing of `m` needs any. has_lines: printed lines go through the library, too.
const char *library_text(const ir_module *m, arena *a, bool has_lines);

#endif
