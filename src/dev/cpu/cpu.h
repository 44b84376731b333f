// The cpu device: kernels as machine code of this host. build.c turns a module's C text (back/cpu)
// into functions, tier.c lets that happen beside the program (work.c: for which launches), run.c
// runs grids of them over the host's threads, fiber.c lets the warps of a block wait for one
// another, fault.c and blame.c turn a signal into the kernel's error. A kernel without machine code
// (not yet, no C compiler, or something the backend lacks) runs on the interpreter.
#ifndef KILN_DEV_CPU_H
#define KILN_DEV_CPU_H

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include "dev/interp/device.h"

typedef struct cpu_warp { // struct kw of back/cpu/lanes.h, word for word
    const uint64_t *args;
    uint8_t *shared, *dynamic, *local;
    const uint32_t *thread[3];
    const volatile int *cancel;
    void (*barrier)(struct cpu_warp *, uint32_t site);
    void (*yield)(struct cpu_warp *);
    void (*fault)(struct cpu_warp *, uint32_t kind, uint32_t site, uint32_t lanes);
    void (*print)(struct cpu_warp *, uint32_t site, uint32_t lanes, const uint64_t *args);
    int (*host)(struct cpu_warp *, uint32_t site, uint32_t lanes, const uint64_t *args,
                uint64_t *got);
    uint64_t (*time)(struct cpu_warp *, uint32_t kind);
    uint64_t values[2]; // of a fault
    uint32_t block[3], block_dim[3], grid_dim[3];
    uint32_t warp, warp_end, live, threads, dynamic_bytes, streams;
} cpu_warp;

typedef enum cpu_fault { CPU_ASSERT = 1, CPU_TRAP, CPU_UNREACHABLE, CPU_BOUNDS } cpu_fault;

#define CPU_TABLE_MARK "kiln cpu 3" // changes with struct cpu_warp
typedef struct cpu_row {            // of kiln_cpu_table, as the C text has it
    const char *name;
    void (*run)(cpu_warp *);
    uint64_t local_bytes, shared_bytes;
    uint32_t needs_fibers;
    uint32_t needs_rows; // compiled for blocks whose rows are whole warps, or that have one row
} cpu_row;

typedef enum cpu_ran { RAN_NOT_YET, RAN_COMPILED, RAN_OWN, RAN_INTERPRETED } cpu_ran;

typedef struct cpu_kernel { // what the device keeps of a kernel
    interp_kernel interp;
    const cpu_row *native;       // the C compiler's; NULL: not (yet) there
    const cpu_row *quick;        // our own; NULL: none
    const struct cpu_work *work; // of a launch
    cpu_ran ran;                 // what the newest launch runs on; atomic
} cpu_kernel;

static inline cpu_kernel *cpu_kernel_of(const kiln_kernel *kernel)
{
    return kernel->dev;
}

typedef struct cpu_module {  // and of a module
    void *native;            // the shared object
    struct cpu_quick *quick; // what it runs until that is there
    struct build_job *job;   // it is being made
} cpu_module;

static inline cpu_module *cpu_module_of(const kiln_module *m)
{
    return m->dev;
}

// --- build.c
typedef struct build_job { // what a compiler run needs, and what it makes; knows no module
    char *code;            // the C text
    size_t code_len;
    char folder[256], tmpdir[270];
    char **environment; // as it was when the job was made
    sigset_t signals;   // the maker's mask, for the compiler
    bool talks;
    void *object; // opened; NULL: it did not work
    void *bytes;  // the object's file
    size_t bytes_len;
    // child.c
    pthread_mutex_t lock; // of these two
    pid_t group;          // the compiler's processes; 0: none
    bool is_stopped;      // none starts any more
    // tier.c
    struct build_job *next; // of those that run
    pthread_t thread;
    pid_t owner;                 // the process that has the thread
    int is_done;                 // atomic: all above is there to be read
    bool is_wanted, is_given_up; // under the lock of the workers
    bool was_waited_for;         // long enough
} build_job;
build_job *build_job_new(const char *code, size_t len); // NULL: no memory
void build_job_free(build_job *job);                    // not the object
void build_object(build_job *job);
// The same from the disk cache, or NULL; and back into it.
void *build_cached(const char *code, size_t len);
void build_keep(const build_job *job, const char *about); // the source's path
// The C compiler that is used, or NULL; `why` gets a sentence.
const char *cpu_compiler(const char **why);

// --- child.c
// Runs argv[0 … count) in the job's folder. False: it has failed, or was stopped.
bool child_run(build_job *job, const char *const *argv, size_t count);
void child_stop(build_job *job);          // from another thread: child_run returns soon
void folder_name(char *out, size_t size); // for mkdtemp
void folder_remove(const char *folder);   // with the files in it

// --- work.c
typedef struct cpu_work cpu_work;
const cpu_work *work_new(arena *a, const ir_func *f);
// May some launches be interpreted and others not? Not when the kernel keeps addresses.
bool work_can_move(const cpu_work *w);
double work_of(const kiln_kernel *kernel, const rt_launch *l); // lane-instructions, rather too many
double work_stores(const kiln_kernel *kernel, const rt_launch *l); // bytes that it writes, about

// --- device.c: a launch for the interpreter among addresses of this host; pointers to buffers are
// the interpreter's, above those, or this host's own. Both to be freed; NULL: no memory.
enum { CPU_ABOVE_HOST = 256 };
rt_arg *cpu_moved_args(const kiln_kernel *kernel, const rt_launch *l, bool as_host);
interp_buffer *cpu_moved_rows(const host_device *d);

// --- tier.c
// True: the C compiler's text of the kernels is wanted.
bool tier_wants_code(const kiln_module *m, const struct kiln_native *embedded);
// Gives the kernels of `m` their functions, now or later, when there is a way to make them. May
// leave through bug.h.
void tier_load(kiln_module *m, const rt_image *image);
bool tier_wait(kiln_module *m); // until they have them; false: kiln_cancel was called
void tier_unload(kiln_module *m);
// The machine code for a launch. May wait for it. NULL: it is the interpreter's.
const cpu_row *tier_choose(kiln_kernel *kernel, const rt_launch *l);

// --- quick.c
// Gives the kernels of `m` machine code of our own, where it can be made and memory for it be had.
// May leave through bug.h.
void quick_load(kiln_module *m, const ir_module *from);
void quick_free(kiln_module *m);
bool quick_is_here(const char **why); // `why` gets a sentence

// --- fault.c
typedef struct fault_note { // what the signal reported
    int signal;             // 0: none
    uintptr_t address;
    bool has_address, writes, knows_writes;
    bool is_stack; // the address is where the stack was to go on
} fault_note;
// A launch is in flight between these two. They count.
void fault_begin(void);
void fault_end(void);
// Runs `run`; false: a signal has stopped it. `stack` has fault_stack_bytes for the handler, in
// case that the thread's own is small, or that `run` uses others.
bool fault_run(void *stack, bool has_stacks, void (*run)(void *), void *user, fault_note *note);
size_t fault_stack_bytes(void);
// Is there surely room for a kernel, and for a handler, on the thread's own stack?
bool fault_has_room(void);
// Around a callback of the program's inside of fault_run: its faults are its own.
bool fault_pause(void);
void fault_resume(bool was);

// --- blame.c
// What the interpreter says of the block that was stopped, else what the signal says.
void blame_fault(kiln_kernel *kernel, const rt_launch *l, const fault_note *note,
                 uint64_t block_rank, uint32_t warp, interp_error *out);

// --- run.c
// Adds to the error's text.
void cpu_add_text(interp_error *e, const char *format, ...) PRINTF_LIKE(2, 3);
kiln_status cpu_launch(kiln_kernel *kernel, const cpu_row *row, const rt_launch *l);

// --- fiber.c
typedef struct fiber {
    void *stack_pointer; // while it does not run
    void *caller;        // where to go when it stops
    uint8_t *memory;     // the stack, with a guard page below
    void *context;       // of the portable form
} fiber;
enum { FIBER_STACK = 1 << 20 };
bool fiber_make(fiber *f);
void fiber_free(fiber *f);
void fiber_start(
    fiber *f, void (*run)(void *),
    void *user); // the next fiber_enter begins it; a run must not return but stop for good
void fiber_enter(fiber *f); // until it stops
void fiber_stop(fiber *f);  // from within
// From within `f`: `to` goes on in its place, and stops to where `f` would have. False: not here,
// stop instead.
bool fiber_pass(fiber *f, fiber *to);

// --- pool.c
// Runs `work` on up to `threads` threads at once, the caller's among them, which shares out parts
// of its own accord: threads join while the caller's call lasts. Returns when all that joined are
// done.
void pool_run(uint32_t threads, void (*work)(void *user, uint32_t index), void *user);

#endif
