// A kernel's parameters as its source has them: what their bytes mean, and the IR that says how
// they are used. Made by a compile of its own beside the device's, for the verbs that make
// arguments.
#ifndef KILN_SIGNATURE_H
#define KILN_SIGNATURE_H

#include "cli/cli.h"
#include "cli/layout.h"
#include "ir/ir.h"
#include "ir/target.h"

typedef struct signature_file signature_file;

// Compiles the source again and keeps what is needed of it in an arena of its own. NULL: it did not
// compile, or there is no memory. `made_for` is the device's target.
signature_file *signature_new(const kiln_compile_desc *desc, const struct target *made_for);
void signature_free(signature_file *s);
// The layout of a scalar or struct, or of what a pointer points to. Opaque when it is not known.
layout signature_layout(const signature_file *s, const char *kernel, size_t param,
                        const kiln_param_info *info);
// The kernel after inlining and folding; NULL when there is none.
const ir_func *signature_func(const signature_file *s, const char *kernel);
arena *signature_arena(const signature_file *s);
const char *signature_error(const signature_file *s);    // of the compile; NULL: it went well
int64_t signature_shared_bytes(const signature_file *s); // the constant SHARED_BYTES; 0: none
typedef struct signature_tune {                          // tune(NAME, default, others…)
    const char *name;
    int64_t *values; // the default first, each once
    size_t value_count;
} signature_tune;
size_t signature_tune_count(const signature_file *s);
const signature_tune *signature_tune_at(const signature_file *s, size_t index);
// The files that the compile has read, the source itself first, and those that it has looked for
// and that are not there (yet).
size_t signature_input_count(const signature_file *s);
const char *signature_input(const signature_file *s, size_t index);

#endif
