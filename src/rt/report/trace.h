// The output of KILN_DEBUG, KILN_STATS and KILN_DUMP for compiles and launches.
#ifndef KILN_TRACE_H
#define KILN_TRACE_H

#include "compile.h"
#include "rt/rt.h"

// True when the stages of a compile are wanted: cached code has none.
bool trace_wants_stages(void);
// For compile_options.stage; `module` is the kiln_module.
void trace_stage(void *module, const char *name, front *f, ir_module *m);
void trace_compiled(const kiln_module *m, const compile_outcome *outcome);
// A module that is ready to launch.
void trace_ready(const kiln_module *m);
void trace_launch(const kiln_kernel *kernel, const rt_launch *launch);

#endif
