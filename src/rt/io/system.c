// Clocks, sleep, the environment, entropy and the exit of a program, for kernels.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // openat2 and its kin
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "rt/io/io.h"

void service_clock(void *state, const kiln_host_call *call)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID};
    struct timespec t;
    int32_t which = IO_ARG(int32_t, 0);
    (void)state;
    if (which < 0 || which >= (int32_t)COUNT(clocks))
        IO_RETURN(int64_t, -EINVAL);
    if (clock_gettime(clocks[which], &t))
        IO_RETURN(int64_t, -errno);
    IO_RETURN(int64_t, (int64_t)t.tv_sec * 1000000000 + t.tv_nsec);
}

void service_sleep(void *state, const kiln_host_call *call)
{
    const io_state *s = state;
    int64_t left = IO_ARG(int64_t, 0);
    const int64_t slice = (int64_t)IO_SLICE_MS * 1000000;
    while (left > 0) {
        int64_t now = left < slice ? left : slice;
        struct timespec t = {.tv_sec = 0, .tv_nsec = (long)now};
        if (__atomic_load_n(&s->k->cancel, __ATOMIC_RELAXED))
            IO_RETURN(int32_t, -ECANCELED);
        if (!nanosleep(&t, &t)) // a signal leaves the rest
            t.tv_nsec = 0;
        left -= now - t.tv_nsec;
    }
    IO_RETURN(int32_t, 0);
}

// The length of the variable's value, of which as much is copied as there is room for.
void service_env(void *state, const kiln_host_call *call)
{
    char name[256];
    int64_t cap = io_bytes(IO_ARG(int64_t, 3));
    if (cap < 0 || !io_text(call, 0, IO_ARG(int64_t, 1), name, sizeof name))
        IO_RETURN(int64_t, -EINVAL);
    if (!io_may(state, IO_ENV, name))
        IO_RETURN(int64_t, -EACCES);
    const char *value = getenv(name);
    if (!value)
        IO_RETURN(int64_t, -ENOENT);
    int64_t len = (int64_t)strlen(value);
    if (cap)
        memcpy(call->args[2], value, (size_t)(len < cap ? len : cap));
    IO_RETURN(int64_t, len);
}

void service_random(void *state, const kiln_host_call *call)
{
    int64_t n = io_bytes(IO_ARG(int64_t, 1)), done = 0;
    (void)state;
    if (n < 0)
        IO_RETURN(int64_t, -EINVAL);
    while (done < n) {
        ssize_t got = getrandom((uint8_t *)call->args[0] + done, (size_t)(n - done), 0);
        if (got < 0 && errno != EINTR)
            IO_RETURN(int64_t, -errno);
        done += got > 0 ? got : 0;
    }
    IO_RETURN(int64_t, done);
}

void service_exit(void *state, const kiln_host_call *call)
{
    io_state *s = state;
    char why[80];
    int32_t status = IO_ARG(int32_t, 0);
    pthread_mutex_lock(&s->lock);
    if (!s->has_exit)
        s->exit_status = status;
    s->has_exit = true;
    pthread_mutex_unlock(&s->lock);
    snprintf(why, sizeof why, "the kernel called io_exit(%d)", (int)status);
    kiln_host_stop(call, why);
}

bool kiln_exit_status(const kiln *k, int *status)
{
    if (!handle_is(HANDLE_CONTEXT, k) || !k->io || !k->io->has_exit)
        return false;
    if (status)
        *status = k->io->exit_status;
    return true;
}
