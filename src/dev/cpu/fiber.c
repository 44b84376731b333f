// Stackful coroutines: a warp that waits at a barrier gives its host thread to the next one. By
// hand on x86-64 and aarch64 (a switch saves what a call must keep, nothing else), with ucontext
// elsewhere.
#include "dev/cpu/cpu.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
// void fiber_switch(void **save, void *to): what a call must keep goes on the stack, the stack
// pointer to *save.
void kiln_fiber_switch(void **save, void *to);
void kiln_fiber_begin(void);
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden kiln_fiber_switch\n"
        ".globl kiln_fiber_switch\n"
        ".type kiln_fiber_switch, @function\n"
        "kiln_fiber_switch:\n"
        "    push %rbp\n    push %rbx\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbx\n    pop %rbp\n"
        "    ret\n"
        ".hidden kiln_fiber_begin\n"
        ".globl kiln_fiber_begin\n"
        "kiln_fiber_begin:\n" // r12: the argument, r13: the function
        "    mov %r12, %rdi\n"
        "    call *%r13\n"
        "    ud2\n");

static void *first_frame(uint8_t *top, void (*run)(void *), void *user)
{
    uintptr_t *at = (void *)((uintptr_t)top & ~(uintptr_t)63);
    at -= 2;
    *--at = (uintptr_t)kiln_fiber_begin;
    at -= 6; // r15 r14 r13 r12 rbx rbp
    memset(at, 0, 6 * sizeof *at);
    at[2] = (uintptr_t)run;
    at[3] = (uintptr_t)user;
    return at;
}
#    define HAS_SWITCH 1
#elif defined(__aarch64__)
void kiln_fiber_switch(void **save, void *to);
void kiln_fiber_begin(void);
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden kiln_fiber_switch\n"
        ".globl kiln_fiber_switch\n"
        ".type kiln_fiber_switch, %function\n"
        "kiln_fiber_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n    stp x21, x22, [sp, #16]\n    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n    stp x27, x28, [sp, #64]\n    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n    stp d10, d11, [sp, #112]\n    stp d12, d13, [sp, #128]\n   "
        " stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n    str x9, [x0]\n    mov sp, x1\n"
        "    ldp x19, x20, [sp]\n    ldp x21, x22, [sp, #16]\n    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n    ldp x27, x28, [sp, #64]\n    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n    ldp d10, d11, [sp, #112]\n    ldp d12, d13, [sp, #128]\n   "
        " ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".hidden kiln_fiber_begin\n"
        ".globl kiln_fiber_begin\n"
        "kiln_fiber_begin:\n"
        "    mov x0, x20\n"
        "    blr x19\n"
        "    brk #1\n");

static void *first_frame(uint8_t *top, void (*run)(void *), void *user)
{
    uintptr_t *at = (void *)(((uintptr_t)top & ~(uintptr_t)63) - 160);
    memset(at, 0, 160);
    at[0] = (uintptr_t)run;
    at[1] = (uintptr_t)user;
    at[11] = (uintptr_t)kiln_fiber_begin;
    return at;
}
#    define HAS_SWITCH 1
#endif

static size_t page(void)
{
    long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (size_t)size : 4096;
}

// Stacks of fibers that have ended are kept for the next launches: a kernel with barriers needs
// some for every host thread, and the system takes longer to make them than a small launch runs.
enum { MOST_KEPT = 128 };
static uint8_t *kept[MOST_KEPT];

static uint8_t *stack_take(void)
{
    for (uint32_t n = 0; n < MOST_KEPT; n++)
        if (__atomic_load_n(&kept[n], __ATOMIC_RELAXED)) {
            uint8_t *memory = __atomic_exchange_n(&kept[n], NULL, __ATOMIC_ACQUIRE);
            if (memory)
                return memory;
        }
    size_t guard = page();
    void *made =
        mmap(NULL, FIBER_STACK + guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    mprotect(made, guard, PROT_NONE);
    return made;
}

static void stack_give(uint8_t *memory)
{
    for (uint32_t n = 0; n < MOST_KEPT; n++) {
        uint8_t *none = NULL;
        if (!__atomic_load_n(&kept[n], __ATOMIC_RELAXED) &&
            __atomic_compare_exchange_n(&kept[n], &none, memory, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return;
    }
    munmap(memory, FIBER_STACK + page());
}

bool fiber_make(fiber *f)
{
    *f = (fiber){.memory = stack_take()};
    return f->memory != NULL;
}

#ifdef HAS_SWITCH
void fiber_free(fiber *f)
{
    if (f->memory)
        stack_give(f->memory);
    *f = (fiber){0};
}

void fiber_start(fiber *f, void (*run)(void *), void *user)
{
    f->stack_pointer = first_frame(f->memory + page() + FIBER_STACK, run, user);
}

void fiber_enter(fiber *f)
{
    kiln_fiber_switch(&f->caller, f->stack_pointer);
}

void fiber_stop(fiber *f)
{
    kiln_fiber_switch(&f->stack_pointer, f->caller);
}

bool fiber_pass(fiber *f, fiber *to)
{
    to->caller = f->caller;
    kiln_fiber_switch(&f->stack_pointer, to->stack_pointer);
    return true;
}
#else
#    include <ucontext.h>

typedef struct contexts {
    ucontext_t inside, outside;
    void (*run)(void *);
    void *user;
} contexts;

void fiber_free(fiber *f)
{
    if (f->memory)
        stack_give(f->memory);
    free(f->context);
    *f = (fiber){0};
}

// makecontext passes ints alone.
static void begin(unsigned high, unsigned low)
{
    contexts *c = (contexts *)((uintptr_t)high << 16 << 16 | low);
    c->run(c->user);
}

void fiber_start(fiber *f, void (*run)(void *), void *user)
{
    contexts *c = f->context ? f->context : calloc(1, sizeof *c);
    if (!c)
        abort();
    f->context = c;
    c->run = run;
    c->user = user;
    getcontext(&c->inside);
    c->inside.uc_stack.ss_sp = f->memory + page();
    c->inside.uc_stack.ss_size = FIBER_STACK;
    c->inside.uc_link = NULL;
    makecontext(&c->inside, (void (*)(void))begin, 2, (unsigned)((uintptr_t)c >> 16 >> 16),
                (unsigned)(uintptr_t)c);
}

void fiber_enter(fiber *f)
{
    contexts *c = f->context;
    swapcontext(&c->outside, &c->inside);
}

void fiber_stop(fiber *f)
{
    contexts *c = f->context;
    swapcontext(&c->inside, &c->outside);
}

bool fiber_pass(fiber *f, fiber *to)
{
    (void)f;
    (void)to;
    return false;
}
#endif
