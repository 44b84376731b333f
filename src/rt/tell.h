// What KILN_DEBUG, KILN_STATS and KILN_DUMP make of a compile and of launches.
#ifndef KILN_TELL_H
#define KILN_TELL_H

#include "compile.h"
#include "rt/rt.h"

// True when the stages of a compile must be seen: code from the cache would not do.
bool tell_wants_stages(void);
// For compile_options.stage; `module` is the kiln_module.
void tell_stage(void *module, const char *name, front *f, ir_module *m);
void tell_compiled(const kiln_module *m, const compile_outcome *outcome);
// A module that is ready to launch.
void tell_ready(const kiln_module *m);
void tell_launch(const kiln_kernel *kernel, const rt_launch *launch);

#endif
