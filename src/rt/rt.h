// The runtime's insides: what stands behind the handles of kiln.h.
//
// A handle's first word is its magic. Handles come from tables that are never given back to the
// system, so looking at a freed one is harmless and finds the poisoned magic (handle.c).
#ifndef KILN_RT_H
#define KILN_RT_H

#include "base/diag.h"
#include "kiln/kiln.h"
#include "rt/interp.h"

typedef enum handle_kind {
    HANDLE_CONTEXT,
    HANDLE_MODULE,
    HANDLE_KERNEL,
    HANDLE_BUFFER,
    HANDLE_KIND_COUNT
} handle_kind;

typedef struct error_state {
    kiln_error shown;
    char *text; // malloc'ed; shown.text points to it
    char code[8];
    char kernel[128], file[256], hint[256];
} error_state;

struct kiln {
    uint64_t magic;
    char device[32];
    error_state error;
    struct kiln_module *modules; // lists of everything made through this context
    struct kiln_buffer *buffers;
    interp_buffer *rows; // the interpreter's segment table; row 0 is null
    uint32_t row_count, row_cap;
    uint32_t *free_rows;
    uint32_t free_row_count;
    uint32_t threads;
    uint64_t step_limit;
    volatile int cancel;
    void (*print)(void *user, const char *text, size_t len);
    void *print_user;
    char *printed[2]; // being filled; handed out last
    size_t printed_len, printed_cap;
    bool has_lost_print; // no memory for some of it
};

typedef struct rt_param {
    kiln_param_info info;
    ir_type value; // of the scalar
} rt_param;

struct kiln_kernel {
    uint64_t magic;
    struct kiln_module *module;
    const char *name;
    rt_param *params;
    size_t param_count;
    uint32_t block[3];
    interp_program *program;
};

struct kiln_module {
    uint64_t magic;
    kiln *k;
    arena *a; // programs, names, parameters
    char *log;
    kiln_kernel **kernels;
    size_t kernel_count;
    struct kiln_module *prev, *next;
};

struct kiln_buffer {
    uint64_t magic;
    kiln *k;
    kiln_type type;
    size_t elem_size, count;
    void *memory;  // as allocated
    uint8_t *base; // aligned
    uint32_t row;
    struct kiln_buffer *prev, *next;
};

// --- handle.c
void *handle_new(handle_kind kind); // zeroed but for the magic; NULL: no memory
void handle_free(handle_kind kind, void *handle);
bool handle_is(handle_kind kind, const void *handle);

// --- error.c: records the error on `k` (may be NULL) and on this thread; returns `status`.
kiln_status error_set(kiln *k, kiln_status status, diag_code code, const char *format, ...)
    PRINTF_LIKE(4, 5);
kiln_status error_no_memory(kiln *k, const char *what);
kiln_status error_bad_handle(handle_kind kind, const void *handle);
// Adds where it happened to the error just set.
void error_add_place(kiln *k, const char *kernel, const char *file, uint32_t line, uint32_t column);
// An error whose code is not a row's name but text (a compile's first diagnostic).
kiln_status error_set_text(kiln *k, kiln_status status, const char *code, const char *text);
void error_free(kiln *k);

// --- args.c
kiln_type type_from_ir(ir_type t, bool is_unsigned);
// Checks one argument and turns it into what the interpreter takes.
kiln_status arg_check(kiln_kernel *kernel, size_t index, const kiln_arg *arg, interp_arg *out);

// --- buffer.c
void buffer_drop(kiln_buffer *b); // without taking it out of the context's list
// --- module.c
void module_drop(kiln_module *m);

#endif
