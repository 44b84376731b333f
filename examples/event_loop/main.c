// A program with an event loop: poll waits for the end of kernels, for a timer and for a pipe at
// the same time. Nobody calls kiln_sync while work runs.
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"

enum { N = 1 << 16, STEPS = 5, ROUNDS = 200 };
enum { KERNEL, TIMER, PIPE, SOURCES };

static int fail(const char *why)
{
    fprintf(stderr, "event_loop: %s\n", why);
    return 1;
}

// The next step of the work, and a note when it has ended.
static kiln_status start_step(kiln *k, kernel_kernels *kernels, kiln_f32s x, int note)
{
    kiln_status status = launch_step(kernels, (kiln_grid){.items = N}, x, N, ROUNDS);
    return status ? status : kiln_stream_notify(k, NULL, note);
}

int main(void)
{
    static float values[N];
    kiln *k;
    kernel_kernels kernels;
    kiln_f32s x;
    int pipe_ends[2], steps = 0, messages = 0, ticks = 0;
    if (kiln_open(NULL, &k))
        return fail(kiln_last_error(NULL)->text);
    if (kernel_load(k, &kernels) || kiln_f32s_new(k, N, &x) || kiln_f32s_write(x, 0, values, N))
        return fail(kiln_last_error(k)->text);
    struct pollfd wait[SOURCES] = {
        {.fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN},
        {.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), .events = POLLIN},
        {.events = POLLIN}};
    struct itimerspec every_ms = {{0, 1000000}, {0, 1000000}};
    if (wait[KERNEL].fd < 0 || wait[TIMER].fd < 0 || pipe(pipe_ends) ||
        timerfd_settime(wait[TIMER].fd, 0, &every_ms, NULL))
        return fail("there is no descriptor left");
    wait[PIPE].fd = pipe_ends[0];

    if (start_step(k, &kernels, x, wait[KERNEL].fd))
        return fail(kiln_last_error(k)->text);
    while (steps < STEPS || messages < STEPS) {
        uint64_t count;
        if (poll(wait, SOURCES, 10000) < 1)
            return fail("nothing happens");
        if (wait[KERNEL].revents & POLLIN) {
            if (read(wait[KERNEL].fd, &count, sizeof count) != sizeof count)
                return fail("the eventfd cannot be read");
            steps += (int)count; // several may have ended since
            if (write(pipe_ends[1], "done", 4) != 4)
                return fail("the pipe cannot be written");
            if (steps < STEPS && start_step(k, &kernels, x, wait[KERNEL].fd))
                return fail(kiln_last_error(k)->text);
        }
        if (wait[TIMER].revents & POLLIN && read(wait[TIMER].fd, &count, sizeof count) > 0)
            ticks += (int)count;
        char text[4];
        if (wait[PIPE].revents & POLLIN && read(wait[PIPE].fd, text, sizeof text) == 4)
            messages++;
    }
    float expected = 0;
    if (kiln_sync(k) || kiln_f32s_read(x, 0, values, N)) // what went wrong is said here
        return fail(kiln_last_error(k)->text);
    for (int n = 0; n < STEPS * ROUNDS; n++)
        expected = expected * 0.5f + 1.0f;
    for (int i = 0; i < N; i++)
        if (values[i] != expected)
            return fail("a value is wrong");
    printf("%d steps on %s, %d messages, %d ticks of the timer\n", steps, kiln_device_name(k),
           messages, ticks);
    printf("event_loop: PASS\n");
    kernel_unload(&kernels);
    kiln_close(k);
    return 0;
}
