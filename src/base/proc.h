// Other programs: finding them, running them, reading what they say.
#ifndef KILN_PROC_H
#define KILN_PROC_H

#include "base/str.h"

// The path of a program: in $PATH, then in `more` (folders, NULL-terminated; may be NULL). NULL:
// not there.
const char *proc_find(arena *a, const char *program, const char *const *more);
// NVIDIA's command line tools are often not in $PATH: also $CUDA_HOME/bin and /usr/local/cuda/bin.
const char *proc_find_cuda(arena *a, const char *program);

typedef struct proc_result {
    int status; // of exit; 128 + n: ended by signal n
    str output; // standard output and error, in the order written
} proc_result;

// Runs argv[0] with nothing on its standard input and waits. False: it could not be started;
// *reason says why.
bool proc_run(arena *a, const char *const *argv, proc_result *out, const char **reason);

#endif
