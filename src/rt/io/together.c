// Reads, writes and accepts of all lanes that call together. What is there is taken by one system
// call for all of them, where there is io_uring (ring.c); for the rest is waited together, so that
// no lane waits for another one's peer. Start at all_together.
#include <errno.h>
#include <poll.h>

#include "rt/io/io.h"
#include "rt/io/ring.h"

typedef struct wait {
    const kiln_host_call *call;
    io_handle *handle; // NULL: it is done
    io_job job;
    int64_t until; // -1: for ever
} wait;

static void answer(const wait *w, int64_t result)
{
    if (w->job.what == IO_ACCEPT)
        *(int32_t *)w->call->result = (int32_t)result;
    else
        *(int64_t *)w->call->result = result;
}

static void end(io_state *s, wait *w, int64_t result)
{
    io_give(s, w->handle);
    w->handle = NULL;
    if (w->job.what == IO_ACCEPT && result >= 0)
        result = io_add(s, IO_STREAM, (int)result, NULL);
    answer(w, result);
}

// What is no socket, and what need not wait, is made as if it were alone.
static void alone(io_state *s, const wait *w)
{
    if (w->job.what == IO_ACCEPT)
        service_accept(s, w->call);
    else if (w->job.what == IO_SEND)
        service_write(s, w->call);
    else
        service_read(s, w->call);
}

static void start(io_state *s, const kiln_host_call *call, io_what what, wait *w)
{
    bool is_accept = what == IO_ACCEPT;
    int64_t n = is_accept ? 0 : io_bytes(IO_ARG(int64_t, 2));
    int32_t number = IO_ARG(int32_t, 0);
    unsigned kinds = is_accept ? 1u << IO_LISTENER : 1u << IO_STREAM | 1u << IO_DATAGRAM;
    *w = (wait){.call = call, .job.what = what, .until = -1};
    if (is_accept || (n > 0 && number > 2))
        w->handle = io_take(s, number, kinds);
    if (!w->handle) {
        alone(s, w);
        return;
    }
    int32_t timeout = is_accept ? IO_ARG(int32_t, 1) : w->handle->timeout_ms[what == IO_SEND];
    w->until = timeout < 0 ? -1 : io_now_ms() + timeout;
    w->job.fd = w->handle->fd;
    if (!is_accept) {
        w->job.at = call->args[1];
        w->job.bytes = (uint32_t)n;
    }
}

// Bytes of one socket keep the order of the lanes: a lane's turn comes when those before it are
// done. Connections have no order.
static bool is_turn(const wait *waits, uint32_t n)
{
    for (uint32_t k = 0; waits[n].job.what != IO_ACCEPT && k < n; k++)
        if (waits[k].handle == waits[n].handle)
            return false;
    return waits[n].handle != NULL;
}

// One attempt of each whose turn it is; how many are still waiting. `has_more`: somebody's turn has
// come since.
static uint32_t attempt(io_state *s, wait *waits, uint32_t count, bool *has_more)
{
    io_job jobs[IO_RING_JOBS];
    uint32_t which[IO_RING_JOBS], made = 0, left = 0;
    for (uint32_t n = 0; n < count; n++)
        if (is_turn(waits, n)) {
            which[made] = n;
            jobs[made++] = waits[n].job;
        }
    if (made < 2 || !io_ring_try(jobs, made))
        io_plain_run(jobs, made);
    *has_more = false;
    for (uint32_t k = 0; k < made; k++) {
        wait *w = &waits[which[k]];
        int64_t result = jobs[k].result;
        if (result == -EAGAIN || result == -EINTR || result == -ECONNABORTED)
            continue;
        *has_more = true;
        if (result == -ENOTSOCK) { // a pipe, a terminal
            io_give(s, w->handle);
            w->handle = NULL;
            alone(s, w);
        } else {
            end(s, w, result);
        }
    }
    for (uint32_t n = 0; n < count; n++)
        left += waits[n].handle != NULL;
    return left;
}

// Until one of them is ready, or its time is over, or the launch is cancelled.
static void wait_for_some(io_state *s, wait *waits, uint32_t count)
{
    struct pollfd p[IO_RING_JOBS];
    int64_t now = io_now_ms(), slice = IO_SLICE_MS;
    uint32_t made = 0;
    for (uint32_t n = 0; n < count; n++) {
        wait *w = &waits[n];
        if (!w->handle)
            continue;
        int64_t left = w->until < 0 ? IO_SLICE_MS : w->until - now;
        slice = left < slice ? left : slice;
        if (is_turn(waits, n))
            p[made++] = (struct pollfd){.fd = w->job.fd,
                                        .events = w->job.what == IO_SEND ? POLLOUT : POLLIN};
    }
    int ready = poll(p, made, slice < 0 ? 0 : (int)slice);
    if (ready > 0)
        return;
    bool is_cancelled = __atomic_load_n(&s->k->cancel, __ATOMIC_RELAXED) != 0;
    now = io_now_ms();
    for (uint32_t n = 0; n < count; n++) {
        bool is_late = waits[n].until >= 0 && now >= waits[n].until;
        if (waits[n].handle && (is_cancelled || is_late))
            end(s, &waits[n], is_cancelled ? -ECANCELED : -ETIMEDOUT);
    }
}

static void all_together(io_state *s, const kiln_host_call *calls, uint32_t count, io_what what)
{
    wait waits[IO_RING_JOBS];
    bool has_more = true;
    for (uint32_t n = 0; n < count; n++) // at most 32: a warp
        start(s, &calls[n], what, &waits[n]);
    while (attempt(s, waits, count, &has_more))
        if (!has_more)
            wait_for_some(s, waits, count);
}

void io_read_together(void *state, const kiln_host_call *calls, uint32_t count)
{
    all_together(state, calls, count, IO_RECEIVE);
}

void io_write_together(void *state, const kiln_host_call *calls, uint32_t count)
{
    all_together(state, calls, count, IO_SEND);
}

void io_accept_together(void *state, const kiln_host_call *calls, uint32_t count)
{
    all_together(state, calls, count, IO_ACCEPT);
}
