// NVIDIA's assembler: what it says of a kernel, and what its disassembler shows. Neither needs a
// GPU.
#ifndef KILN_PTXAS_H
#define KILN_PTXAS_H

#include "base/str.h"

typedef struct ptxas_numbers {
    uint32_t registers;
    uint32_t spills;       // registers that went to memory
    uint64_t local_bytes;  // of a thread
    uint64_t shared_bytes; // static
} ptxas_numbers;

// Assembles `ptx` for `target` ("sm_90a"); *log gets what ptxas -v says, or is left empty when
// ptxas is not there. *note: a sentence when it is there but did not work, else NULL.
bool ptxas_run(arena *a, const char *target, str ptx, str *log, const char **note);
// What the log says of one kernel. False: nothing.
bool ptxas_read(str log, const char *kernel, ptxas_numbers *out);
// The machine code as `nvdisasm -g` prints it; empty when nvdisasm or ptxas is not there.
str ptxas_disassemble(arena *a, const char *target, str ptx);

#endif
