// The threads model of C-like text: a kernel is a function that one thread runs, values are
// scalars, pointers are numbers. control.c prints control that C does, together.c control that all
// threads of a block go through (where the device has no lanes of its own to shuffle between),
// memory.c loads, stores and atomics, host.c calls of the host, effect.c the other instructions,
// kernel.c a whole kernel.
// Start reading there.
//
// To add a dialect: its file with a ctext_dialect and an entry like opencl_emit, a prelude that
// defines the functions and macros of opencl.cl, a row in EMBEDDED of the Makefile.
#ifndef KILN_BACK_CTEXT_THREADS_H
#define KILN_BACK_CTEXT_THREADS_H

#include "back/ctext/ctext.h"
#include "pass/pass.h"

typedef struct threads threads;

typedef enum thread_space {
    SPACE_GLOBAL,
    SPACE_SHARED,
    SPACE_PRIVATE,
    SPACE_DATA,
    SPACE_ANY // a generic pointer's: it says which in its top bits
} thread_space;

typedef struct ctext_dialect {
    ctext_words words;
    struct {
        const char *qualifier; // of a pointer's target: "__local "
        const char *base;      // what the pointer's number is an offset in; NULL: it is an address
        const char *end;       // of atomics' names
        const char *tag;       // a generic pointer's bits; NULL: none
    } spaces[SPACE_ANY];
    const char *thread, *block, *block_size, *grid_size; // functions of an axis
    const char *cluster[4];            // by IR_CLUSTER's number, where every block is one by itself
    void (*put_signature)(threads *e); // a kernel's name and parameters
} ctext_dialect;

typedef struct thread_control { // of each control instruction; [0] is the kernel's body
    bool is_together;           // has a collective inside: all threads of the block go through it
    bool is_split;              // threads of a block may leave it at different times or places
    bool leaks;                 // some thread may leave it for further out
    bool is_masked; // while printing: threads that are not in it go along, with `act` at 0
} thread_control;

struct threads {
    ctext t; // the first
    const ctext_dialect *dialect;
    bool has_lanes;  // the device has warps of 32 lanes: what goes on among them is its own
    bool has_loops;  // its compiler makes loops over the block's threads
    bool has_breaks; // control is printed without goto; it must be plain (pass exits)
    bool calls_host; // the device has mailboxes (host.c)
    bool is_library; // a function for calls of the host: a thread is a warp, and gets the caller's
                     // frame and shared memory
    bool has_data;   // of such a function: its caller has constant arrays
    uniform_facts uniform;
    thread_control *controls;
    const uint64_t *data_at; // offset of each constant array, of all
    uint64_t *structs;       // per parameter: where a struct given by value lies in the frame
    uint64_t host_frame;     // where words of calls of the host lie there
    bool has_boxes;          // lanes exchange values through memory
    bool is_together;        // has collectives that all threads must reach
    // where the printer is
    bool is_whole;    // all threads of the block are active here
    ir_inst_id plain; // the outermost control without collectives, whose threads go their own ways
    bool is_plain;    // within one
};

// --- kernel.c
// `e` has dialect, has_lanes, has_loops and data_at; `what` is behind the comment's line.
void threads_emit_kernel(threads *e, const ir_func *f, const char *what, arena *a, text *out);
// A function of the library, which kernels call; `e` has is_library, too.
void threads_emit_function(threads *e, const ir_func *f, arena *a, text *out);
// Structs that parameters are, by their sizes.
void threads_emit_structs(const ir_module *m, const ctext_dialect *d, arena *a, text *out);
// Offsets of all constant arrays; their bytes are put between the braces of one array.
uint64_t *threads_emit_data(const ir_module *m, const char *head, arena *a, text *out);
// --- control.c
void threads_emit_region(threads *e, ir_region_id region);
void threads_emit_within(threads *e, ir_region_id region); // one level deeper
void threads_declare(threads *e, const char *prefix, ir_ref first, uint32_t count);
void threads_move_all(threads *e, const char *prefix, ir_ref to, const ir_inst *i);
void threads_assign_next(threads *e, const ir_inst *loop);
const char *threads_case(threads *e, const ir_inst *i, uint32_t k); // whether case k is meant
// --- together.c
void threads_find_together(threads *e); // fills controls
void threads_emit_masked(threads *e, ir_inst_id id);
void threads_declare_all(threads *e);
bool threads_is_collective(uint16_t op);
// --- memory.c
void threads_emit_memory(threads *e, const ir_inst *i);
const char *threads_pointer_cast(threads *e, const ir_inst *i);
// --- effect.c
// Assigns `value` to `r`, which is declared here unless the kernel declares all at its top.
void threads_set(threads *e, ir_ref r, const char *value);
// Whether the operation ends a thread that fails it.
bool threads_may_end(uint16_t op);
// The rest of a line that ends this thread.
const char *threads_end(threads *e);
void threads_emit_plain(threads *e, ir_inst_id id);
// --- host.c
void threads_emit_host(threads *e, const ir_inst *i, uint32_t site);
uint64_t threads_host_bytes(const ir_func *f); // of the frame, for calls of the host

#endif
