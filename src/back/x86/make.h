// Machine code for x86-64 with AVX-512, straight from the IR: the cpu device's first tier. What a
// kernel's code is given (x86_warp) and what it calls back into. Start reading at x86_make.
#ifndef KILN_BACK_X86_MAKE_H
#define KILN_BACK_X86_MAKE_H

#include "ir/ir.h"

typedef struct x86_warp { // struct kw of back/cpu/lanes.h, word for word
    const uint64_t *args;
    uint8_t *shared, *dynamic, *local;
    const uint32_t *thread[3];
    const volatile int *cancel;
    void (*barrier)(struct x86_warp *, uint32_t site);
    void (*yield)(struct x86_warp *);
    void (*fault)(struct x86_warp *, uint32_t kind, uint32_t site, uint32_t lanes);
    void (*print)(struct x86_warp *, uint32_t site, uint32_t lanes, const uint64_t *args);
    int (*host)(struct x86_warp *, uint32_t site, uint32_t lanes, const uint64_t *args,
                uint64_t *got);
    uint64_t (*time)(struct x86_warp *, uint32_t kind);
    uint64_t values[2];
    uint32_t block[3], block_dim[3], grid_dim[3];
    uint32_t warp, warp_end, live, threads, dynamic_bytes, streams;
} x86_warp;

typedef struct x86_kernel { // what a row of the cpu device's table says
    const char *name;
    uint32_t at; // where its function begins in the code
    uint64_t local_bytes, shared_bytes;
    bool needs_fibers, needs_rows;
    const char *refusal; // NULL: it has code
} x86_kernel;

typedef struct x86_module {
    const uint8_t *code;
    size_t code_len;
    x86_kernel *kernels; // one a kernel, in the module's order
    size_t kernel_count;
} x86_module;

// True when this machine has what the code needs.
bool x86_is_here(void);
// The code of all kernels of `m` in one piece, to be put at an address that is a multiple of 64.
// It does not depend on that address. Everything is in the arena.
x86_module x86_make(const ir_module *m, arena *a);

// --- what code calls (help.c)
// Bytes of each buffer: 32 lanes of 8 or 4 bytes, or of bits in 4 bytes; and how many there are.
enum { X86_BUFFER = 256, X86_BUFFERS = 4 };

typedef struct x86_info {
    uint16_t op;
    uint8_t type, count; // operands, in buffers 0 …; the result goes to the first one
    uint32_t aux;
    uint8_t size[4]; // bytes a lane of the operands; 0: bits
    uint8_t out;     // of the result
    uint8_t lanes;   // 32, or 1 for one number
    uint8_t cell;    // bytes of a memory access
    bool is_plain, is_tagged, is_local;
} x86_info;

typedef void x86_helper(x86_warp *w, uint64_t *buffers, const x86_info *info, uint32_t active);
x86_helper x86_help_eval, x86_help_fast, x86_help_atomic, x86_help_load, x86_help_store,
    x86_help_shuffle, x86_help_match;

// The lane that `lane` reads from in a shuffle.
uint32_t x86_lane_from(ir_shuffle kind, uint32_t lane, uint32_t by, uint32_t width);

#endif
