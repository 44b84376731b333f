// Runs a kernel that the host's C compiler compiled: every thread of a block is a fiber, blocks run
// one after another, all on the calling thread, with real block barriers and warp exchanges. One
// file of a program defines KILN_HOST_RUNNER before it includes this; that file gets the code. kiln
// debug and Kiln's own tests use it.
//
// Invariant: a fiber runs until it finishes or must wait for others; a wait is over when every
// living thread of its group has arrived.
#ifndef KILN_HOST_RUNNER_H
#define KILN_HOST_RUNNER_H

#include <stddef.h>
#include <stdint.h>

typedef void host_call(void *const *args); // unpacks args and calls the kernel

// One kernel of a compiled corpus file; a table of them, ended by a NULL name, is what the
// generated wrapper of each file exports (see corpus_wrapper).
typedef struct host_kernel {
    const char *name;
    host_call *call;
    int (*check)(void *const *args); // the test's own opinion of the results; may be NULL
    const size_t *sizes;             // of each argument's element or scalar
} host_kernel;

typedef struct host_launch {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    host_call *call;
    void *const *args;
} host_launch;

// NULL when every thread came to its end; else a sentence that says why not.
const char *host_run(const host_launch *launch);

#ifdef KILN_HOST_RUNNER
#    include <kiln/kernel.h>
#    include <sys/mman.h>

enum { STACK_BYTES = 128 * 1024, MAX_THREADS = 1024, MAX_WARPS = MAX_THREADS / 32 };

// --- ThreadSanitizer (KILN_HOST_TSAN): a fiber of its own per thread, switches that order nothing,
// waits that do. This file itself must be compiled without it.
#    ifdef KILN_HOST_TSAN
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#        define TSAN(call) __tsan_##call
#    else
#        define TSAN(call) ((void)0)
#    endif

typedef struct group { // a block or a warp
    u32 alive, arrived, round;
    u32 lanes[2]; // warps: who took part in the exchange of that parity
    u64 words[2][32];
    char orders[2]; // addresses: everything before a wait comes before everything after it. Two, or
                    // one would also order the next round
} group;

typedef struct fiber {
    kiln_host_thread self;
    void *stack_pointer;
    group *waits_for; // NULL: ready
    u32 round;        // of waits_for when the wait began
    bool is_done;
    void *tsan;
} fiber;

static struct {
    const host_launch *launch;
    fiber *fibers;
    char *stacks;
    fiber *current;
    void *scheduler_stack;
    group whole_block, warps[MAX_WARPS];
    void *tsan; // the scheduler
    char block_start, block_end;
} run;

// --- switching: saves what a called function must keep, exchanges stacks, restores.
void host_switch(void **save, void *load);
void host_fiber_start(void);
void host_fiber_main(void);
#    if defined(__x86_64__)
__asm__(".pushsection .text\n.globl host_switch\n.type host_switch,@function\nhost_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n  ret\n"
        ".globl host_fiber_start\n.type host_fiber_start,@function\nhost_fiber_start:\n"
        "  xorl %ebp, %ebp\n  call host_fiber_main\n  hlt\n.popsection\n");
enum { SAVED_WORDS = 9, RETURN_WORD = 6 }; // one more keeps the stack aligned
#    elif defined(__aarch64__)
__asm__(".pushsection .text\n.globl host_switch\n.type host_switch,%function\nhost_switch:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n"
        "  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
        "  ldp x19, x20, [sp]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n"
        "  ldp d14, d15, [sp, #144]\n  add sp, sp, #160\n  ret\n"
        ".globl host_fiber_start\n.type host_fiber_start,%function\nhost_fiber_start:\n"
        "  mov x29, #0\n  bl host_fiber_main\n  brk #0\n.popsection\n");
enum { SAVED_WORDS = 20, RETURN_WORD = 11 };
#    else
#        error "kiln/host/runner.h: write host_switch for this processor"
#    endif

#    if defined(__SANITIZE_ADDRESS__)
#        include <sanitizer/common_interface_defs.h>
static const void *scheduler_bottom;
static size_t scheduler_size;
static void *scheduler_fake, *fiber_fake[MAX_THREADS];
#    endif

static char *stack_of(const fiber *f)
{
    return run.stacks + (size_t)(f - run.fibers) * STACK_BYTES;
}

static void switch_to_fiber(fiber *f)
{
    run.current = f;
    kiln_host_self = &f->self;
#    if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&scheduler_fake, stack_of(f), STACK_BYTES);
#    endif
    TSAN(switch_to_fiber(f->tsan, 1));
    host_switch(&run.scheduler_stack, f->stack_pointer);
#    if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(scheduler_fake, NULL, NULL);
#    endif
    kiln_host_self = NULL;
}

static void switch_to_scheduler(fiber *f)
{
#    if defined(__SANITIZE_ADDRESS__)
    void **fake = &fiber_fake[f - run.fibers];
    __sanitizer_start_switch_fiber(f->is_done ? NULL : fake, scheduler_bottom, scheduler_size);
#    endif
    TSAN(switch_to_fiber(run.tsan, 1));
    host_switch(&f->stack_pointer, run.scheduler_stack);
#    if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(*fake, NULL, NULL);
#    endif
}

// --- groups
static void group_open_if_complete(group *g)
{
    if (g->arrived < g->alive)
        return;
    g->arrived = 0;
    g->round++;
    g->lanes[g->round & 1] = 0;
}

static void group_wait(group *g)
{
    fiber *f = run.current;
    u32 round = g->round;
    TSAN(release(&g->orders[round & 1]));
    g->arrived++;
    group_open_if_complete(g);
    if (g->round == round) {
        f->waits_for = g;
        f->round = round;
        switch_to_scheduler(f);
    }
    TSAN(acquire(&g->orders[round & 1]));
}

static void wait_block(void)
{
    group_wait(&run.whole_block);
}

static const u64 *exchange(u64 word, u32 *present)
{
    u32 rank = (u32)(run.current - run.fibers);
    group *w = &run.warps[rank / 32];
    u32 parity = w->round & 1;
    w->words[parity][rank % 32] = word;
    w->lanes[parity] |= 1u << rank % 32;
    group_wait(w);
    *present = w->lanes[parity];
    return w->words[parity];
}

// --- fibers
void host_fiber_main(void)
{
    fiber *f = run.current;
#    if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(NULL, &scheduler_bottom, &scheduler_size);
#    endif
    TSAN(acquire(&run.block_start));
    run.launch->call(run.launch->args);
    TSAN(release(&run.block_end));
    group *w = &run.warps[(f - run.fibers) / 32];
    f->is_done = true;
    w->alive--;
    run.whole_block.alive--;
    group_open_if_complete(w);
    group_open_if_complete(&run.whole_block);
    switch_to_scheduler(f);
}

static void fiber_prepare(fiber *f, u32 rank, const u32 at[3])
{
    const u32 *dim = run.launch->block;
    *f = (fiber){.self = {.dynamic_bytes = run.launch->shared_bytes,
                          .wait_block = wait_block,
                          .exchange = exchange}};
    f->self.thread[0] = rank % dim[0];
    f->self.thread[1] = rank / dim[0] % dim[1];
    f->self.thread[2] = rank / dim[0] / dim[1];
    memcpy(f->self.block, at, sizeof f->self.block);
    memcpy(f->self.block_dim, dim, sizeof f->self.block_dim);
    memcpy(f->self.grid_dim, run.launch->grid, sizeof f->self.grid_dim);
    uintptr_t words[SAVED_WORDS] = {0};
    words[RETURN_WORD] = (uintptr_t)host_fiber_start;
    char *top = stack_of(f) + STACK_BYTES - sizeof words;
    memcpy(top, words, sizeof words);
    f->stack_pointer = top;
    run.warps[rank / 32].alive++;
    run.whole_block.alive++;
}

static bool run_block(u32 threads, const u32 at[3])
{
    memset(&run.whole_block, 0, sizeof run.whole_block);
    memset(run.warps, 0, sizeof run.warps);
    memset(kiln_host_dynamic, 0xa5, sizeof kiln_host_dynamic);
    for (u32 i = 0; i < threads; i++)
        fiber_prepare(&run.fibers[i], i, at);
#    ifdef KILN_HOST_TSAN
    run.tsan = __tsan_get_current_fiber();
    for (u32 i = 0; i < threads; i++)
        run.fibers[i].tsan = __tsan_create_fiber(0);
#    endif
    TSAN(release(&run.block_start));
    for (bool moved = true; moved;) {
        moved = false;
        for (u32 i = 0; i < threads; i++) {
            fiber *f = &run.fibers[i];
            if (f->is_done || (f->waits_for && f->waits_for->round == f->round))
                continue;
            f->waits_for = NULL;
            switch_to_fiber(f);
            moved = true;
        }
    }
    TSAN(acquire(&run.block_end));
#    ifdef KILN_HOST_TSAN
    for (u32 i = 0; i < threads; i++)
        __tsan_destroy_fiber(run.fibers[i].tsan);
#    endif
    return run.whole_block.alive == 0;
}

const char *host_run(const host_launch *launch)
{
    u32 threads = launch->block[0] * launch->block[1] * launch->block[2];
    if (threads == 0 || threads > MAX_THREADS)
        return "a block has 1 to 1024 threads";
    if (launch->shared_bytes > KILN_HOST_DYNAMIC_BYTES)
        return "too much dynamic shared memory";
    if (!run.stacks) {
        run.stacks = mmap(NULL, (size_t)MAX_THREADS * STACK_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        run.fibers = calloc(MAX_THREADS, sizeof *run.fibers);
        if (run.stacks == MAP_FAILED || !run.fibers) {
            run.stacks = NULL;
            return "no memory for the threads' stacks";
        }
    }
    run.launch = launch;
    for (u32 z = 0; z < launch->grid[2]; z++)
        for (u32 y = 0; y < launch->grid[1]; y++)
            for (u32 x = 0; x < launch->grid[0]; x++)
                if (!run_block(threads, (u32[3]){x, y, z}))
                    return "some threads wait for others that never arrive";
    return NULL;
}
#endif

#endif
