// The SIMT interpreter: runs a kernel's IR on the host, 32 lanes in lockstep. The oracle for every
// other device.
//
// interp_decode turns an ir_func into a program that owns all it needs (the compile's arena may
// go). interp_run runs a grid of it. Pointers are virtual: (segment << 40) | offset; every access
// is checked, so a kernel can fail but never harm the host.
#ifndef KILN_INTERP_H
#define KILN_INTERP_H

#include "base/diag.h"
#include "dev/device.h"
#include "ir/ir.h"

typedef struct interp_program interp_program;

// Everything is allocated in `a`. The function must verify and hold no CALL. Leaves through bug.h
// when memory is out.
interp_program *interp_decode(arena *a, const ir_func *f);
// The same for `kiln check`: the instructions a checker wants to see go through
// interp_launch.hooks.
enum { INTERP_WATCH_MEMORY = 1, INTERP_WATCH_NAN = 2 };
interp_program *interp_decode_watched(arena *a, const ir_func *f, unsigned watch);
// Bytes of the static shared arrays the kernel uses; whether it uses dynamic shared memory.
uint64_t interp_shared_bytes(const interp_program *p);
bool interp_uses_dynamic_shared(const interp_program *p);
// True when blocks may run at the same time without the result telling.
bool interp_is_parallel(const interp_program *p);
uint32_t interp_code_len(const interp_program *p);

typedef struct interp_buffer { // one row of the context's table; row 0 is never used (null)
    uint8_t *base;             // at least 16-byte aligned; NULL: freed
    uint64_t size;
} interp_buffer;

#define INTERP_SEGMENT_BITS 40
static inline uint64_t interp_address(uint32_t buffer_row, uint64_t offset)
{
    return ((uint64_t)buffer_row << INTERP_SEGMENT_BITS) + offset;
}

// How an element is added to another.
typedef enum interp_elem {
    INTERP_BYTES, // not at all
    INTERP_I32,
    INTERP_I64,
    INTERP_F16,
    INTERP_BF16,
    INTERP_F32,
    INTERP_F64
} interp_elem;

typedef struct interp_tensor { // what a tensor map holds on this device
    uint64_t magic;
    uint64_t address; // of the origin
    uint8_t rank, elem_size;
    uint8_t swizzle; // 0 none, 1: 32 bytes, 2: 64, 3: 128
    uint8_t elem;    // interp_elem
    uint8_t fills_nan, unused[3];
    uint16_t box[5];
    uint8_t step[5], unused_too;
    uint64_t size[5], stride[4]; // elements; bytes of dimension 1 and up
} interp_tensor;
#define INTERP_TENSOR_MAGIC 0x6b696c6e6d617031u

typedef struct interp_error {
    diag_code code; // DIAG_NONE: no error
    char text[1500];
    const char *file; // owned by the program
    uint32_t line, column;
    uint64_t block_rank; // of the failing block; the lowest one is reported
    // For a checker: code indices + 1 (0: none) and threads, of the fault and of its other end.
    uint32_t at_code, other_code;
    uint32_t thread, other_thread;
} interp_error;

struct host_lane; // rt/host/host.h

typedef struct interp_launch {
    const interp_program *program;
    uint32_t grid[3], block[3]; // all at least 1
    uint32_t cluster[3];        // zeros: none; else the grid is a multiple
    uint64_t shared_bytes;      // dynamic
    const rt_arg *args;         // pointers are interp_addresses
    const interp_buffer *buffers;
    uint32_t buffer_count;
    uint32_t threads;           // host threads; 0: one per core
    uint64_t step_limit;        // instructions of one warp; 0: none
    const volatile int *cancel; // may be NULL; non-zero stops the run
    uint64_t *taken;            // may be NULL; atomic: blocks that were begun
    bool is_together;           // all blocks take turns, so that they can wait for one another
    bool checks_assumes;
    bool is_one_block; // only block `one_block` of the grid runs
    uint64_t one_block;
    bool takes_host; // addresses of this host, inside of a buffer, are good, too
    void (*print)(void *user, const char *text, size_t len); // one call of printf by one thread
    void *print_user;
    // A host function is called by one lane. False: it stops the kernel, `why` says more. NULL:
    // none may be called.
    bool (*host)(void *user, uint32_t site, struct host_lane *lane, char *why, size_t size);
    void *host_user;
    const struct interp_hooks *hooks; // engine.h; only with a watched program
    void *hook_user;
} interp_launch;

enum { INTERP_TOGETHER = 1024 }; // blocks, at most, with is_together
// True when the kernel ran to its end; else *error says what happened.
bool interp_run(const interp_launch *launch, interp_error *error);

#endif
