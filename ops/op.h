// What the ops share on the host: the kernels they are made of, compiled when first needed and kept
// with the context.
//
// An op's kernels are texts built into the library ("ops/matmul/gemm_sm90.c"); a choice of macros
// and tunables makes a variant. Kernels of one context are found again by their request's text.
#ifndef KILN_OP_H
#define KILN_OP_H

#include "rt/rt.h"

enum { OP_WORDS = 16, OP_WORD_BYTES = 32 };

typedef struct op_request {
    const char *file;   // "ops/matmul/gemm_sm90.c"
    const char *kernel; // its name; NULL: the only one
    char define[OP_WORDS][OP_WORD_BYTES], tune[OP_WORDS][OP_WORD_BYTES];
    size_t define_count, tune_count;
    size_t shared_bytes; // dynamic; for the occupancy
    bool is_too_long;    // a word had no room: asking for it fails
} op_request;

typedef struct op_kernel {
    kiln_kernel *kernel;
    uint32_t resident; // blocks that run at the same time on the whole device, in whole clusters
} op_kernel;

// Add a macro or a tunable; printf form, at most OP_WORD_BYTES - 1 characters.
void op_define(op_request *r, const char *format, ...) PRINTF_LIKE(2, 3);
void op_tune(op_request *r, const char *format, ...) PRINTF_LIKE(2, 3);
// Compiles it, or finds it again. The result lives as long as the context.
kiln_status op_kernel_get(kiln *k, const op_request *r, const op_kernel **out);
// What the device is; asked once, kept with the context.
kiln_status op_device(kiln *k, const kiln_device_info **out);
// UINT64_MAX when it is more: no buffer is that long.
uint64_t op_product(uint64_t a, uint64_t b);
// Checks an operand: a live buffer of `k` that holds elements first … first + count - 1.
// `op` and `name` are for the message.
kiln_status op_check_buffer(kiln *k, const char *op, const char *name, const kiln_buffer *b,
                            uint64_t first, uint64_t count);

#endif
