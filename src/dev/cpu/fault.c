// Signals of a kernel's machine code (a wild pointer, an overflowing stack) become a return of
// fault_run. The handlers are in place only while a launch is in flight. A signal that does not
// come from a kernel on this thread goes on to the previous handler. Kernel code holds no locks
// and no memory, so leaving it with a jump loses nothing. Start reading at fault_run.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // names of the registers
#endif
#undef _FORTIFY_SOURCE // its longjmp refuses to jump from a fiber's stack to the thread's
#include "dev/cpu/cpu.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <ucontext.h>

typedef struct fault_catch {
    jmp_buf back;
    fault_note *note;
    struct fault_catch *outer; // of a launch that runs inside a callback of this one
    bool is_armed;             // false while the program's own callback runs
} fault_catch;

// The innermost one of each thread. A key's value is read inside a handler: that neither allocates
// nor locks. Thread-local variables do not serve: they may be allocated when they are read first,
// and those of the static block make dlopen refuse the library, which has room for few bytes there.
static pthread_key_t catching_key;
static bool has_key; // atomic
static fault_catch *catching(void)
{
    return __atomic_load_n(&has_key, __ATOMIC_ACQUIRE) ? pthread_getspecific(catching_key) : NULL;
}

// An address that no pointer can have is a SIGBUS when it is in a register that the processor takes
// for the stack's. Divisions never trap.
static const int signals[] = {SIGSEGV, SIGBUS};
static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    uint32_t launches;
    struct sigaction before[COUNT(signals)];
} handlers = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

// --- the handler
enum { STACK_REACH = 128 << 10 }; // from the stack pointer to what a frame uses

static void read_place(fault_note *note, const siginfo_t *info, const void *context)
{
    note->address = (uintptr_t)info->si_addr;
    note->has_address = info->si_code != SI_KERNEL; // not for an address no pointer can have
#ifdef __x86_64__
    const ucontext_t *u = context;
    uintptr_t stack = (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
    note->is_stack = note->has_address && note->address - (stack - STACK_REACH) < 2 * STACK_REACH;
    note->writes = u->uc_mcontext.gregs[REG_ERR] >> 1 & 1;
    note->knows_writes = note->has_address;
#else
    (void)context;
#endif
}

// As the kernel would have done it, had our handler not been there.
static void pass_on(int signal, siginfo_t *info, void *context)
{
    size_t k = 0;
    while (signals[k] != signal)
        k++;
    struct sigaction before = handlers.before[k];
    bool is_default = !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL;
    bool is_ignored = !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_IGN;
    if (is_default || (is_ignored && info->si_code > 0)) {
        // The instruction runs again, or the signal is sent again, and ends the process.
        struct sigaction plain = {.sa_handler = SIG_DFL};
        sigaction(signal, &plain, NULL);
        if (info->si_code <= 0)
            raise(signal);
        return;
    }
    if (is_ignored)
        return;
    sigset_t mask = before.sa_mask, old;
    if (!(before.sa_flags & SA_NODEFER))
        sigaddset(&mask, signal);
    pthread_sigmask(SIG_BLOCK, &mask, &old);
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(signal, info, context);
    else
        before.sa_handler(signal);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    fault_catch *c = catching();
    if (c && c->is_armed && info->si_code > 0) {
        c->is_armed = false;
        c->note->signal = signal;
        read_place(c->note, info, context);
        _longjmp(c->back, 1);
    }
    int error = errno;
    pass_on(signal, info, context);
    errno = error;
}

// --- in place or not
static void put_back(void)
{
    for (size_t k = 0; k < COUNT(signals); k++) {
        struct sigaction now;
        // The program may have set its own meanwhile.
        if (!sigaction(signals[k], &handlers.before[k], &now) &&
            !(now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal))
            sigaction(signals[k], &now, NULL);
    }
}

static void before_fork(void)
{
    pthread_mutex_lock(&handlers.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&handlers.lock);
}

// The launches of other threads are not here.
static void after_fork_in_child(void)
{
    uint32_t mine = 0;
    for (const fault_catch *c = catching(); c; c = c->outer)
        mine++;
    if (handlers.launches && !mine)
        put_back();
    handlers.launches = mine;
    pthread_mutex_unlock(&handlers.lock);
}

static void set_up(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
    __atomic_store_n(&has_key, !pthread_key_create(&catching_key, NULL), __ATOMIC_RELEASE);
}

void fault_begin(void)
{
    pthread_once(&handlers.once, set_up);
    pthread_mutex_lock(&handlers.lock);
    if (handlers.launches++ == 0)
        for (size_t k = 0; k < COUNT(signals); k++) {
            struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
            ours.sa_sigaction = on_signal;
            sigemptyset(&ours.sa_mask);
            sigaction(signals[k], &ours, &handlers.before[k]);
        }
    pthread_mutex_unlock(&handlers.lock);
}

void fault_end(void)
{
    pthread_mutex_lock(&handlers.lock);
    if (handlers.launches && --handlers.launches == 0)
        put_back();
    pthread_mutex_unlock(&handlers.lock);
}

// --- a thread
size_t fault_stack_bytes(void)
{
    unsigned long frame = 0;
#ifdef AT_MINSIGSTKSZ
    frame = getauxval(AT_MINSIGSTKSZ); // the registers, as many as this processor has
#endif
    return 32768 + (size_t)frame;
}

bool fault_has_room(void)
{
    enum { ROOM = 4 << 20 };
    static _Thread_local uintptr_t lowest; // 0: not known yet
    char here;
    if (!lowest) {
        pthread_attr_t attributes;
        void *low = NULL;
        size_t size = 0;
        lowest = UINTPTR_MAX;
        if (!pthread_getattr_np(pthread_self(), &attributes)) {
            if (!pthread_attr_getstack(&attributes, &low, &size) && low)
                lowest = (uintptr_t)low;
            pthread_attr_destroy(&attributes);
        }
    }
    return (uintptr_t)&here > lowest && (uintptr_t)&here - lowest > ROOM;
}

// A blocked fault would end the process. True: *mask is to be set again.
static bool unblock(sigset_t *mask)
{
    bool is_blocked = false;
    sigset_t ours;
    sigemptyset(&ours);
    if (pthread_sigmask(SIG_SETMASK, NULL, mask))
        return false;
    for (size_t k = 0; k < COUNT(signals); k++) {
        is_blocked |= sigismember(mask, signals[k]) == 1;
        sigaddset(&ours, signals[k]);
    }
    return is_blocked && !pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
}

static bool run_guarded(fault_catch *c, void (*run)(void *), void *user)
{
    if (_setjmp(c->back))
        return false;
    c->is_armed = true;
    run(user);
    return true;
}

bool fault_run(void *stack, bool has_stacks, void (*run)(void *), void *user, fault_note *note)
{
    fault_catch c = {.note = note, .outer = catching()};
    sigset_t mask;
    stack_t own = {.ss_sp = stack, .ss_size = fault_stack_bytes()}, before;
    *note = (fault_note){0};
    bool was_blocked = unblock(&mask);
    // It fails inside a handler of the program's, which then is what there is.
    bool is_set = (has_stacks || !fault_has_room()) && !sigaltstack(&own, &before);
    bool has = __atomic_load_n(&has_key, __ATOMIC_ACQUIRE);
    if (has)
        pthread_setspecific(catching_key, &c); // without memory for it a fault ends the process
    bool fine = run_guarded(&c, run, user);
    if (has)
        pthread_setspecific(catching_key, c.outer);
    if (is_set)
        sigaltstack(&before, NULL);
    if (was_blocked)
        pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return fine;
}

bool fault_pause(void)
{
    fault_catch *c = catching();
    bool was = c && c->is_armed;
    if (was)
        c->is_armed = false;
    return was;
}

void fault_resume(bool was)
{
    fault_catch *c = catching();
    if (was && c)
        c->is_armed = true;
}
