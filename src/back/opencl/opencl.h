// What the files of the OpenCL printer share. Values, pure operations and their names are the cpu
// device's (back/cpu/cpu.h) with every value held once: a kernel here is one thread.
#ifndef KILN_BACK_OPENCL_H
#define KILN_BACK_OPENCL_H

#include "back/cpu/cpu.h"

typedef struct ocl_control { // of each control instruction; [0] is the kernel's body
    bool is_together;        // has a collective inside: all threads of the block go through it
    bool is_split;           // threads of a block may leave it at different times or places
    bool leaks;              // some thread may leave it for further out
    bool is_masked;          // while printing: threads that are not in it go along, with `act` at 0
} ocl_control;

typedef struct ocl_emitter {
    cpu_emitter c;
    const opencl_options *options;
    ocl_control *controls;
    uint64_t *data_at; // offset of each constant array, of all
    bool has_warps;    // uses the boxes
    bool is_together;  // has collectives that all threads must reach
    // where the printer is
    bool is_whole;    // all threads of the block are active here
    ir_inst_id plain; // the outermost control without collectives, whose threads go their own ways
    bool is_plain;    // within one
} ocl_emitter;

// --- memory.c
void ocl_emit_memory(ocl_emitter *e, const ir_inst *i);
const char *ocl_pointer_cast(ocl_emitter *e, const ir_inst *i);
// --- inst.c
// Assigns `value` to `r`, which is declared here unless the kernel declares all at its top.
void ocl_set(ocl_emitter *e, ir_ref r, const char *value);
const char *ocl_type(ir_type t);
bool ocl_is_collective(uint16_t op);
// Whether the operation ends a thread that fails it.
bool ocl_may_end(uint16_t op);
// The rest of a line that ends this thread.
const char *ocl_end(ocl_emitter *e);
void ocl_emit_plain(ocl_emitter *e, ir_inst_id id);

#endif
