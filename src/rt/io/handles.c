// Handles that kernels hold: never descriptors of the process. A handle has the number of its place
// and of its life, so that one that was closed means nothing. Start reading at io_take.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // openat2 and its kin
#endif
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "rt/io/io.h"

enum { PLACE_BITS = 12, LIVES = 1 << 15 };
_Static_assert(IO_HANDLES <= 1 << PLACE_BITS, "places fit");

static void close_now(io_handle *h)
{
    if (h->dir)
        closedir(h->dir);
    else
        close(h->fd);
    io_stream_free(h->stream);
    h->kind = IO_FREE;
    h->dir = NULL;
    h->stream = NULL;
    h->generation = (uint16_t)(h->generation % (LIVES - 1) + 1);
}

int32_t io_add(io_state *s, io_kind kind, int fd, void *dir)
{
    int32_t handle = -EMFILE;
    pthread_mutex_lock(&s->lock);
    for (uint32_t n = 0; n < IO_HANDLES && handle < 0; n++) {
        io_handle *h = &s->handles[n];
        if (h->kind)
            continue;
        if (!h->generation)
            h->generation = 1;
        *h = (io_handle){.kind = kind,
                         .fd = fd,
                         .dir = dir,
                         .generation = h->generation,
                         .timeout_ms = {-1, -1}};
        handle = (int32_t)((uint32_t)h->generation << PLACE_BITS | n);
    }
    pthread_mutex_unlock(&s->lock);
    if (handle < 0 && dir)
        closedir(dir);
    else if (handle < 0)
        close(fd);
    return handle;
}

static io_handle *find(io_state *s, int32_t handle)
{
    uint32_t place = (uint32_t)handle & ((1u << PLACE_BITS) - 1);
    uint32_t life = (uint32_t)handle >> PLACE_BITS;
    if (handle < 0 || place >= IO_HANDLES || !s->handles[place].kind ||
        s->handles[place].generation != life || s->handles[place].is_closing)
        return NULL;
    return &s->handles[place];
}

io_handle *io_take(io_state *s, int32_t handle, unsigned kinds)
{
    pthread_mutex_lock(&s->lock);
    io_handle *h = find(s, handle);
    if (h && !(kinds & 1u << h->kind))
        h = NULL;
    if (h)
        h->users++;
    pthread_mutex_unlock(&s->lock);
    return h;
}

void io_give(io_state *s, io_handle *h)
{
    pthread_mutex_lock(&s->lock);
    if (!--h->users && h->is_closing)
        close_now(h);
    pthread_mutex_unlock(&s->lock);
}

int32_t io_close(io_state *s, int32_t handle)
{
    pthread_mutex_lock(&s->lock);
    io_handle *h = find(s, handle);
    if (h && h->users)
        h->is_closing = true; // the last one who uses it closes it
    else if (h)
        close_now(h);
    pthread_mutex_unlock(&s->lock);
    return h ? 0 : -EBADF;
}

int64_t io_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int io_wait(const io_state *s, int fd, short events, int32_t timeout_ms)
{
    int64_t until = io_now_ms() + (timeout_ms < 0 ? 0 : timeout_ms);
    for (;;) {
        int64_t left = timeout_ms < 0 ? IO_SLICE_MS : until - io_now_ms();
        struct pollfd p = {.fd = fd, .events = events};
        bool is_over = __atomic_load_n(&s->k->cancel, __ATOMIC_RELAXED) != 0; // a lane was told
        int slice = is_over || left < 0 ? 0 : left > IO_SLICE_MS ? IO_SLICE_MS : (int)left;
        int ready = poll(&p, 1, slice);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return -errno;
        if (__atomic_load_n(&s->k->cancel, __ATOMIC_RELAXED))
            return -ECANCELED;
        if (timeout_ms >= 0 && io_now_ms() >= until)
            return -ETIMEDOUT;
    }
}
