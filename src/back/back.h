// Back ends: optimised IR in, code for one target out. A back end is a row that compile.c calls;
// what it can be given beyond the target are its options.
#ifndef KILN_BACK_H
#define KILN_BACK_H

#include "base/diag.h"
#include "ir/ir.h"
#include "ir/target.h"

typedef struct target target;

typedef struct backend_job {
    const ir_module *module;
    const ir_func *only; // NULL: all kernels
    const target *target;
    const void *options; // ptx_options, opencl_options; NULL: the usual ones
    diags *diags;        // may be NULL
    arena *scratch;
} backend_job;

typedef struct backend {
    const char *suffix; // of a file with its code
    // Appends the code. False: a diagnostic says what the target lacks, and where it is used.
    bool (*emit)(const backend_job *job, text *out);
    // Kiln C that the code of this module calls, compiled beside it (ir_module.library). NULL, or
    // a result of NULL: there is none.
    const char *(*library)(const ir_module *m, arena *a);
} backend;

extern const backend ptx_backend, cpu_backend, opencl_backend;

// CUDA's targets, the rows of target.def. NULL when there is no such row.
const target *target_find(const char *name);
const target *target_at(size_t index); // NULL past the end

typedef struct ptx_options {
    bool line_info; // .loc for every source line
    bool annotate;  // the source line as a comment
} ptx_options;

// Appends the PTX of all kernels of `m` (or of `only`, when given) for target `t`. False: a
// diagnostic says which feature the target lacks, and where it is used.
bool ptx_emit(const ir_module *m, const ir_func *only, const target *t, const ptx_options *options,
              diags *ds, arena *scratch, text *out);

// Appends the C text of all kernels of `m` (or of `only`): lane operations, a function a kernel,
// and the table that dev/cpu/cpu.h describes.
void cpu_emit(const ir_module *m, const ir_func *only, arena *scratch, text *out);

typedef struct opencl_options {
    bool has_ptx;    // NVIDIA's compiler: warp operations are inline PTX
    bool is_exact;   // the compiler rounds f32 division and square root correctly when asked
    bool has_loops;  // PoCL: the compiler makes loops over the block's threads
    bool calls_host; // kernels that run share memory with the host: calls go through mailboxes
} opencl_options;

// Appends the OpenCL C of all kernels of `m` (or of `only`). Kernel NAME is k_NAME; behind its own
// parameters it takes local memory (static, then dynamic shared bytes), the number of dynamic
// bytes, and, when it prints or checks, the channel. "// kernel NAME: N bytes of shared memory"
// says the static ones. False: a diagnostic says what OpenCL does not have.
bool opencl_emit(const ir_module *m, const ir_func *only, const opencl_options *options, diags *ds,
                 arena *scratch, text *out);

// Bytes of stack that one thread of the kernel may need for its calls; 0: it makes none.
uint64_t stack_bytes(const ir_func *kernel, arena *scratch);

#endif
