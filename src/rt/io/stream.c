// Streams of C's library for kernels (lib/libc/stream.h): what has been read ahead, the bytes that
// were put back, end and error live here, so that a FILE * is a handle and costs a kernel no
// memory. Writes go to the file at once. Start reading at fill and take.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // openat2 and its kin
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rt/io/io.h"

enum { AHEAD = 4096, BACK = 16 };
enum { TAKE_ALL, TAKE_LINE, TAKE_PEEK };        // modes of kiln_io_take
enum { AT_END = 1, HAS_ERROR = 2 };             // kiln_io_flags
enum { FROM_START, FROM_HERE, FROM_END, TELL }; // kiln_io_place
enum { KINDS = 1u << IO_FILE | 1u << IO_STREAM | 1u << IO_FOLDER };

struct io_stream {
    pthread_mutex_t lock;
    size_t first, last; // of the bytes that are there; BACK bytes before them are for ungetc
    int32_t flags;
    uint8_t bytes[BACK + AHEAD];
};

typedef struct user { // one call's hold of a stream
    io_state *state;
    io_handle *handle; // NULL: standard input or output
    io_stream *stream;
} user;

static io_stream *stream_new(void)
{
    io_stream *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    pthread_mutex_init(&made->lock, NULL);
    made->first = made->last = BACK;
    return made;
}

void io_stream_free(io_stream *s)
{
    if (!s)
        return;
    pthread_mutex_destroy(&s->lock);
    free(s);
}

// The stream of a handle, locked: 0, or -errno.
static int hold(io_state *s, int32_t number, user *out)
{
    io_handle *h = number > 2 ? io_take(s, number, KINDS) : NULL;
    if (number < 0 || (number > 2 && !h))
        return -EBADF;
    pthread_mutex_lock(&s->lock);
    io_stream **place = h ? &h->stream : &s->standard[number];
    if (!*place)
        *place = stream_new();
    io_stream *stream = *place;
    pthread_mutex_unlock(&s->lock);
    if (!stream) {
        if (h)
            io_give(s, h);
        return -ENOMEM;
    }
    *out = (user){s, h, stream};
    pthread_mutex_lock(&stream->lock);
    return 0;
}

static void leave(user *u)
{
    pthread_mutex_unlock(&u->stream->lock);
    if (u->handle)
        io_give(u->state, u->handle);
}

// Reads ahead when nothing is there: 1, 0 at the end, -errno.
static int fill(user *u, int32_t number)
{
    io_stream *t = u->stream;
    if (t->first < t->last)
        return 1;
    if (t->flags & AT_END) // until fseek, ungetc or clearerr forgets it
        return 0;
    t->first = t->last = BACK;
    int64_t got = io_read_bytes(u->state, number, t->bytes + BACK, AHEAD);
    if (got == 0)
        t->flags |= AT_END;
    if (got < 0)
        t->flags |= HAS_ERROR;
    if (got > 0)
        t->last += (size_t)got;
    return got < 0 ? (int)got : got > 0;
}

static int64_t take(user *u, int32_t number, uint8_t *to, int64_t n, int32_t mode)
{
    io_stream *t = u->stream;
    int64_t done = 0;
    while (done < n) {
        int ready = fill(u, number);
        if (ready <= 0)
            return done ? done : ready;
        size_t there = t->last - t->first,
               some = (uint64_t)(n - done) < there ? (size_t)(n - done) : there;
        const uint8_t *from = t->bytes + t->first;
        const uint8_t *line = mode == TAKE_LINE ? memchr(from, '\n', some) : NULL;
        if (line)
            some = (size_t)(line - from) + 1;
        memcpy(to + done, from, some);
        done += (int64_t)some;
        if (mode == TAKE_PEEK)
            break;
        t->first += some;
        if (line)
            break;
    }
    return done;
}

void service_take(void *state, const kiln_host_call *call)
{
    user u;
    int32_t number = IO_ARG(int32_t, 0), mode = IO_ARG(int32_t, 3);
    int64_t n = io_bytes(IO_ARG(int64_t, 2));
    if (n < 0 || mode < TAKE_ALL || mode > TAKE_PEEK)
        IO_RETURN(int64_t, -EINVAL);
    int64_t result = hold(state, number, &u);
    if (result)
        IO_RETURN(int64_t, result);
    result = take(&u, number, call->args[1], n, mode);
    leave(&u);
    IO_RETURN(int64_t, result);
}

// Goes past bytes that a peek has shown.
void service_skip(void *state, const kiln_host_call *call)
{
    user u;
    int64_t n = IO_ARG(int64_t, 1);
    int result = hold(state, IO_ARG(int32_t, 0), &u);
    if (result)
        IO_RETURN(int32_t, result);
    size_t there = u.stream->last - u.stream->first;
    if (n < 0 || (uint64_t)n > there)
        result = -EINVAL;
    else
        u.stream->first += (size_t)n;
    leave(&u);
    IO_RETURN(int32_t, result);
}

void service_push_back(void *state, const kiln_host_call *call)
{
    user u;
    int result = hold(state, IO_ARG(int32_t, 0), &u);
    if (result)
        IO_RETURN(int32_t, result);
    if (!u.stream->first) {
        result = -ENOSPC;
    } else {
        u.stream->bytes[--u.stream->first] = (uint8_t)IO_ARG(int32_t, 1);
        u.stream->flags &= ~AT_END;
    }
    leave(&u);
    IO_RETURN(int32_t, result);
}

// Where the stream is in its file. Bytes that were put back before the first one do not count.
static int64_t place_of(const user *u)
{
    int64_t at = lseek(u->handle->fd, 0, SEEK_CUR),
            there = (int64_t)(u->stream->last - u->stream->first);
    return at < 0 ? -errno : at > there ? at - there : 0;
}

// Forgets what was read ahead: the file's own position becomes the stream's.
static void settle(user *u)
{
    io_stream *t = u->stream;
    if (u->handle && u->handle->kind == IO_FILE && t->last > t->first)
        lseek(u->handle->fd, place_of(u), SEEK_SET);
    t->first = t->last = BACK;
}

void service_put(void *state, const kiln_host_call *call)
{
    user u;
    int32_t number = IO_ARG(int32_t, 0);
    int64_t n = io_bytes(IO_ARG(int64_t, 2)), done = 0;
    if (n < 0)
        IO_RETURN(int64_t, -EINVAL);
    int64_t result = hold(state, number, &u);
    if (result)
        IO_RETURN(int64_t, result);
    if (u.handle)
        settle(&u);
    while (done < n) {
        result = number == 0
                     ? -EBADF
                     : io_write_bytes(state, number, (uint8_t *)call->args[1] + done, n - done);
        if (result <= 0)
            break;
        done += result;
    }
    if (result < 0)
        u.stream->flags |= HAS_ERROR;
    leave(&u);
    IO_RETURN(int64_t, done ? done : result);
}

void service_place(void *state, const kiln_host_call *call)
{
    static const int from[] = {SEEK_SET, SEEK_CUR, SEEK_END};
    user u;
    int32_t whence = IO_ARG(int32_t, 2);
    if (whence < FROM_START || whence > TELL)
        IO_RETURN(int64_t, -EINVAL);
    int64_t result = hold(state, IO_ARG(int32_t, 0), &u);
    if (result)
        IO_RETURN(int64_t, result);
    if (!u.handle || u.handle->kind != IO_FILE) {
        result = -ESPIPE;
    } else if (whence == TELL) {
        result = place_of(&u);
    } else {
        io_stream *t = u.stream;
        size_t first = t->first, last = t->last;
        int64_t before = lseek(u.handle->fd, 0, SEEK_CUR);
        settle(&u);
        int64_t at = lseek(u.handle->fd, IO_ARG(int64_t, 1), from[whence]);
        result = at < 0 ? -errno : at;
        if (at >= 0) {
            t->flags &= ~AT_END;
        } else { // what was put back stays, too
            lseek(u.handle->fd, before, SEEK_SET);
            t->first = first;
            t->last = last;
        }
    }
    leave(&u);
    IO_RETURN(int64_t, result);
}

// End and error as bits; `is_cleared` forgets them.
void service_flags(void *state, const kiln_host_call *call)
{
    user u;
    io_state *s = state;
    int32_t number = IO_ARG(int32_t, 0);
    io_print_lines(s, number); // fflush asks for the flags
    if (number == 1 || number == 2)
        context_print_out(s->k);
    int result = hold(s, number, &u);
    if (result)
        IO_RETURN(int32_t, result);
    result = u.stream->flags;
    if (IO_ARG(int32_t, 1))
        u.stream->flags = 0;
    leave(&u);
    IO_RETURN(int32_t, result);
}

// A right to write is none to read: what comes to where it may be read must be readable before. One
// move at a time, so that none changes what another one has looked at.
static int32_t move(io_state *s, const io_place *here, int old_parent, const char *old_name,
                    const io_place *there, int new_parent, const char *new_name)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_at_a_time);
    int shown = io_is_readable(there, new_parent, new_name),
        known = shown > 0 ? io_is_readable(here, old_parent, old_name) : 1;
    int32_t result = shown < 0 ? shown : known < 0 ? known : 0;
    if (!result && !known) {
        io_refuse(s,
                  "a kernel may not move '%s' to '%s': what is there may be read, and it may not "
                  "be read where it is: allow that with kiln_allow(k, \"read\", FOLDER) or "
                  "--allow-read=FOLDER",
                  here->whole, there->whole);
        result = -EACCES;
    }
    if (!result && renameat(old_parent, old_name, new_parent, new_name))
        result = -errno;
    pthread_mutex_unlock(&one_at_a_time);
    return result;
}

void service_rename(void *state, const kiln_host_call *call)
{
    char from[IO_PATH], to[IO_PATH];
    const char *old_name, *new_name;
    io_place here, there;
    int32_t result = io_path(call, 0, from);
    result = result ? result : io_path(call, 2, to);
    result = result ? result : io_find_both(state, from, to, &here, &there);
    if (result)
        IO_RETURN(int32_t, result);
    int old_parent = io_open_parent(state, &here, &old_name);
    if (old_parent < 0)
        IO_RETURN(int32_t, old_parent);
    int new_parent = io_open_parent(state, &there, &new_name);
    result = new_parent;
    if (new_parent >= 0) {
        result = move(state, &here, old_parent, old_name, &there, new_parent, new_name);
        close(new_parent);
    }
    close(old_parent);
    IO_RETURN(int32_t, result);
}
