// Files, folders and standard input for kernels.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // openat2 and its kin
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt/io/io.h"
#include "rt/io/ring.h"

typedef struct io_status { // of kiln/io.h
    int64_t size, modified_ns;
    uint32_t mode;
    int32_t kind; // 0 other, 1 file, 2 folder, 3 link
} io_status;

// The flags of kiln/io.h, which are their own: the system's differ between processors.
static const struct {
    int32_t own;
    int host;
} flag_rows[] = {{0x4, O_CREAT},   {0x8, O_EXCL},        {0x10, O_TRUNC},
                 {0x20, O_APPEND}, {0x40, O_NONBLOCK},   {0x80, O_SYNC},
                 {0x100, O_DSYNC}, {0x200, O_DIRECTORY}, {0x400, O_NOFOLLOW}};
enum { ACCESS_BITS = 3, ALL_FLAGS = 0x7ff };

static bool host_flags(int32_t own, int *host)
{
    static const int access[] = {O_RDONLY, O_WRONLY, O_RDWR};
    if (own & ~ALL_FLAGS || (own & ACCESS_BITS) > 2)
        return false;
    *host = access[own & ACCESS_BITS];
    for (size_t n = 0; n < COUNT(flag_rows); n++)
        if (own & flag_rows[n].own)
            *host |= flag_rows[n].host;
    return true;
}

static unsigned rights_of(int flags)
{
    unsigned rights = (flags & O_ACCMODE) != O_WRONLY ? IO_READS : 0;
    if ((flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC | O_APPEND))
        rights |= IO_WRITES;
    return rights;
}

static bool is_pipe(io_state *s, io_place *at)
{
    struct stat about;
    int fd = io_open_place(s, at, O_PATH, 0);
    bool is = fd >= 0 && !fstat(fd, &about) && S_ISFIFO(about.st_mode);
    if (fd >= 0)
        close(fd);
    return is;
}

// A pipe with a name that is opened to write waits for somebody who reads. The system would wait
// where nothing could end it.
static int open_patiently(io_state *s, io_place *at, int flags, uint32_t mode)
{
    for (;;) {
        int fd = io_open_place(s, at, flags | O_NONBLOCK, mode);
        if (fd != -ENXIO || flags & O_NONBLOCK || !is_pipe(s, at))
            return fd;
        if (__atomic_load_n(&s->k->cancel, __ATOMIC_RELAXED))
            return -ECANCELED;
        poll(NULL, 0, IO_SLICE_MS / 10);
    }
}

static int32_t open_path(io_state *s, const char *path, int32_t own, uint32_t mode)
{
    int flags;
    io_place at;
    struct stat about;
    if (!host_flags(own, &flags))
        return -EINVAL;
    int fd = io_find(s, path, rights_of(flags), &at);
    if (fd)
        return fd;
    fd = open_patiently(s, &at, flags, mode & 0777);
    if (fd < 0)
        return fd;
    if (fstat(fd, &about)) {
        close(fd);
        return -EIO;
    }
    if (S_ISREG(about.st_mode)) { // rings give up on what never waits
        fcntl(fd, F_SETFL, flags & O_APPEND);
        if (flags & O_APPEND && (flags & O_ACCMODE) == O_WRONLY) // ftell's answer before a write
            lseek(fd, 0, SEEK_END);
        return io_add(s, IO_FILE, fd, NULL);
    }
    if (!S_ISDIR(about.st_mode)) {
        int32_t handle = io_add(s, IO_STREAM, fd, NULL);
        io_handle *h = flags & O_NONBLOCK ? io_take(s, handle, 1u << IO_STREAM) : NULL;
        if (h) {
            h->is_at_once = true;
            io_give(s, h);
        }
        return handle;
    }
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return -ENOMEM;
    }
    return io_add(s, IO_FOLDER, fd, dir);
}

void service_open(void *state, const kiln_host_call *call)
{
    char path[IO_PATH];
    int failed = io_path(call, 0, path);
    if (failed)
        IO_RETURN(int32_t, failed);
    IO_RETURN(int32_t, open_path(state, path, IO_ARG(int32_t, 2), IO_ARG(uint32_t, 3)));
}

void service_close(void *state, const kiln_host_call *call)
{
    IO_RETURN(int32_t, io_close(state, IO_ARG(int32_t, 0)));
}

// --- reading and writing
enum { ANY_FILE = 1u << IO_FILE | 1u << IO_STREAM };

// A device may keep lines of printf for a while. What comes after them waits for them.
void io_print_lines(io_state *s, int32_t handle)
{
    if ((handle == 1 || handle == 2) && s->k->ops->print_lines)
        s->k->ops->print_lines(s->k);
}

// Who waits for an answer has asked before: the question is let out.
static int64_t read_stdin(io_state *s, void *to, int64_t n)
{
    if (!io_may(s, IO_STDIN, ""))
        return -EACCES;
    io_print_lines(s, 1);
    context_print_out(s->k);
    int ready = n ? io_wait(s, 0, POLLIN, -1) : 0;
    ssize_t got = ready ? 0 : read(0, to, (size_t)n);
    return ready ? ready : got < 0 ? -errno : got;
}

// Writing to somebody who has gone is an error here, not a signal for the program.
static ssize_t write_quietly(int fd, const void *from, size_t n)
{
    sigset_t pipe_signal, before, pending;
    struct timespec at_once = {0, 0};
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    ssize_t done = write(fd, from, n);
    int why = errno;
    if (done < 0 && why == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_signal, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return done;
}

// A datagram or a stream waits; a file does not. Of a folder the system says that it is one.
static int64_t transfer(io_state *s, int32_t handle, void *at, int64_t n, bool is_write)
{
    io_handle *h = io_take(s, handle, ANY_FILE | 1u << IO_DATAGRAM | 1u << IO_FOLDER);
    if (!h)
        return -EBADF;
    int64_t done = 0;
    for (;;) {
        if (h->kind != IO_FILE && n && !h->is_at_once)
            done = io_wait(s, h->fd, is_write ? POLLOUT : POLLIN, h->timeout_ms[is_write]);
        if (done)
            break;
        done = is_write ? write_quietly(h->fd, at, (size_t)n) : read(h->fd, at, (size_t)n);
        if (done >= 0)
            break;
        done = -errno;
        if (done != -EINTR && (done != -EAGAIN || h->is_at_once))
            break;
        done = 0;
    }
    io_give(s, h);
    return done;
}

int64_t io_read_bytes(io_state *s, int32_t handle, void *to, int64_t n)
{
    return handle == 0 ? read_stdin(s, to, n) : transfer(s, handle, to, n, false);
}

int64_t io_write_bytes(io_state *s, int32_t handle, void *from, int64_t n)
{
    if (handle != 1 && handle != 2)
        return transfer(s, handle, from, n, true);
    if (n) { // behind what printf has printed
        io_print_lines(s, handle);
        if (handle == 1)
            context_print(s->k, from, (size_t)n);
        else
            context_print_error(s->k, from, (size_t)n);
    }
    return n;
}

void service_read(void *state, const kiln_host_call *call)
{
    int64_t n = io_bytes(IO_ARG(int64_t, 2));
    if (n < 0)
        IO_RETURN(int64_t, -EINVAL);
    IO_RETURN(int64_t, io_read_bytes(state, IO_ARG(int32_t, 0), call->args[1], n));
}

void service_write(void *state, const kiln_host_call *call)
{
    int64_t n = io_bytes(IO_ARG(int64_t, 2));
    if (n < 0)
        IO_RETURN(int64_t, -EINVAL);
    IO_RETURN(int64_t, io_write_bytes(state, IO_ARG(int32_t, 0), call->args[1], n));
}

// What a call at a place in a file asks for; false: *result says why not. No handle: NULL.
static bool start_at(const io_handle *h, const kiln_host_call *call, bool is_write, io_job *job,
                     int64_t *result)
{
    int64_t n = io_bytes(IO_ARG(int64_t, 2)), offset = IO_ARG(int64_t, 3);
    *result = h ? -EINVAL : -EBADF;
    if (!h || n < 0 || offset < 0)
        return false;
    *job = (io_job){.fd = h->fd,
                    .what = is_write ? IO_PWRITE : IO_PREAD,
                    .at = call->args[1],
                    .bytes = (uint32_t)n,
                    .offset = offset};
    return true;
}

static int64_t transfer_at(io_state *s, const kiln_host_call *call, bool is_write)
{
    int64_t result;
    io_job job;
    io_handle *h = io_take(s, IO_ARG(int32_t, 0), 1u << IO_FILE);
    if (start_at(h, call, is_write, &job, &result)) {
        io_plain_run(&job, 1);
        result = job.result;
    }
    if (h)
        io_give(s, h);
    return result;
}

// Of all lanes that call together: neighbours in a file by one call, the others by a ring. Files
// without rings are made one after the other. Lanes mostly name one file: it is taken once for
// those that follow each other, since all threads that serve share the lock.
static void transfer_together(io_state *s, const kiln_host_call *calls, uint32_t count,
                              bool is_write)
{
    io_handle *handles[IO_RING_JOBS], *taken[IO_RING_JOBS], *h = NULL;
    io_job jobs[IO_RING_JOBS];
    int64_t *results[IO_RING_JOBS];
    uint32_t made = 0, taken_count = 0;
    int32_t number = 0; // of `h`
    bool is_plain = false;
    for (uint32_t n = 0; n < count && n < IO_RING_JOBS; n++) {
        const kiln_host_call *call = &calls[n];
        if (!h || IO_ARG(int32_t, 0) != number) {
            number = IO_ARG(int32_t, 0);
            h = io_take(s, number, 1u << IO_FILE);
            if (h)
                taken[taken_count++] = h;
        }
        if (!start_at(h, call, is_write, &jobs[made], call->result))
            continue;
        is_plain |= __atomic_load_n(&h->is_plain, __ATOMIC_RELAXED);
        jobs[made].lane = made;
        handles[made] = h;
        results[made++] = call->result;
    }
    uint32_t left = io_joined_run(jobs, made);
    if (left < 2 || is_plain || !io_ring_run(jobs, left))
        io_plain_run(jobs, left);
    for (uint32_t n = 0; n < made; n++) {
        *results[jobs[n].lane] = jobs[n].result;
        if (jobs[n].is_plain)
            __atomic_store_n(&handles[jobs[n].lane]->is_plain, true, __ATOMIC_RELAXED);
    }
    for (uint32_t n = 0; n < taken_count; n++)
        io_give(s, taken[n]);
}

void io_pread_together(void *state, const kiln_host_call *calls, uint32_t count)
{
    transfer_together(state, calls, count, false);
}

void io_pwrite_together(void *state, const kiln_host_call *calls, uint32_t count)
{
    transfer_together(state, calls, count, true);
}

void service_pread(void *state, const kiln_host_call *call)
{
    IO_RETURN(int64_t, transfer_at(state, call, false));
}

void service_pwrite(void *state, const kiln_host_call *call)
{
    IO_RETURN(int64_t, transfer_at(state, call, true));
}

void service_seek(void *state, const kiln_host_call *call)
{
    static const int from[] = {SEEK_SET, SEEK_CUR, SEEK_END};
    int32_t whence = IO_ARG(int32_t, 2);
    if (whence < 0 || whence > 2)
        IO_RETURN(int64_t, -EINVAL);
    io_handle *h = io_take(state, IO_ARG(int32_t, 0), 1u << IO_FILE);
    if (!h)
        IO_RETURN(int64_t, -EBADF);
    int64_t at = lseek(h->fd, IO_ARG(int64_t, 1), from[whence]);
    int64_t result = at < 0 ? -errno : at;
    io_give(state, h);
    IO_RETURN(int64_t, result);
}

void service_truncate(void *state, const kiln_host_call *call)
{
    io_handle *h = io_take(state, IO_ARG(int32_t, 0), 1u << IO_FILE);
    if (!h)
        IO_RETURN(int32_t, -EBADF);
    int32_t result = ftruncate(h->fd, IO_ARG(int64_t, 1)) ? -errno : 0;
    io_give(state, h);
    IO_RETURN(int32_t, result);
}

void service_sync(void *state, const kiln_host_call *call)
{
    io_handle *h = io_take(state, IO_ARG(int32_t, 0), 1u << IO_FILE | 1u << IO_FOLDER);
    if (!h)
        IO_RETURN(int32_t, -EBADF);
    int32_t result = fsync(h->fd) ? -errno : 0;
    io_give(state, h);
    IO_RETURN(int32_t, result);
}

// --- what there is
static int32_t kind_of(mode_t mode)
{
    return S_ISREG(mode) ? 1 : S_ISDIR(mode) ? 2 : S_ISLNK(mode) ? 3 : 0;
}

static void set_status(void *to, const struct stat *about)
{
    io_status out = {.size = about->st_size,
                     .modified_ns =
                         (int64_t)about->st_mtim.tv_sec * 1000000000 + about->st_mtim.tv_nsec,
                     .mode = about->st_mode & 07777,
                     .kind = kind_of(about->st_mode)};
    memcpy(to, &out, sizeof out);
}

void service_stat(void *state, const kiln_host_call *call)
{
    char path[IO_PATH];
    io_place at;
    struct stat about;
    int32_t result = io_path(call, 0, path);
    result = result ? result : io_find(state, path, IO_READS, &at);
    if (result)
        IO_RETURN(int32_t, result);
    int fd = io_open_place(state, &at, O_PATH, 0);
    if (fd < 0)
        IO_RETURN(int32_t, fd);
    result = fstat(fd, &about) ? -errno : 0;
    close(fd);
    if (!result)
        set_status(call->args[2], &about);
    IO_RETURN(int32_t, result);
}

void service_status(void *state, const kiln_host_call *call)
{
    struct stat about;
    io_handle *h = io_take(state, IO_ARG(int32_t, 0), ANY_FILE | 1u << IO_FOLDER);
    if (!h)
        IO_RETURN(int32_t, -EBADF);
    int32_t result = fstat(h->fd, &about) ? -errno : 0;
    io_give(state, h);
    if (!result)
        set_status(call->args[1], &about);
    IO_RETURN(int32_t, result);
}

// The next entry but `.` and `..`; NULL at the end and, with errno, after an error.
static struct dirent *next_entry(io_handle *h)
{
    struct dirent *e = h->unread;
    h->unread = NULL;
    errno = 0;
    while (!e && (e = readdir(h->dir)) != NULL)
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            e = NULL;
    return e;
}

// The next name of a folder: its length, 0 at the end. Without room for it, its length alone.
void service_next(void *state, const kiln_host_call *call)
{
    io_state *s = state;
    int64_t cap = io_bytes(IO_ARG(int64_t, 2));
    if (cap < 0)
        IO_RETURN(int32_t, -EINVAL);
    io_handle *h = io_take(s, IO_ARG(int32_t, 0), 1u << IO_FOLDER);
    if (!h)
        IO_RETURN(int32_t, -EBADF);
    int32_t result = 0;
    pthread_mutex_lock(&s->lock); // readdir is for one at a time
    struct dirent *e = next_entry(h);
    if (e)
        result = (int32_t)strlen(e->d_name);
    if (result > cap) {
        h->unread = e; // until the next readdir
    } else if (e) {
        memcpy(call->args[1], e->d_name, (size_t)result);
        *(int32_t *)call->args[3] = e->d_type == DT_REG   ? 1
                                    : e->d_type == DT_DIR ? 2
                                    : e->d_type == DT_LNK ? 3
                                                          : 0;
    } else {
        result = -errno;
    }
    pthread_mutex_unlock(&s->lock);
    io_give(s, h);
    IO_RETURN(int32_t, result);
}

// The open folder of the path in arguments 0 and 1, which may be written; `name`: the last part, in
// `at`. Negative: why not.
static int open_written_parent(void *state, const kiln_host_call *call, io_place *at,
                               const char **name)
{
    char path[IO_PATH];
    int failed = io_path(call, 0, path);
    failed = failed ? failed : io_find(state, path, IO_WRITES, at);
    return failed ? failed : io_open_parent(state, at, name);
}

void service_make_folder(void *state, const kiln_host_call *call)
{
    io_place at;
    const char *name;
    int parent = open_written_parent(state, call, &at, &name);
    if (parent < 0)
        IO_RETURN(int32_t, parent);
    int32_t result = mkdirat(parent, name, IO_ARG(uint32_t, 2) & 0777) ? -errno : 0;
    close(parent);
    IO_RETURN(int32_t, result);
}

void service_remove(void *state, const kiln_host_call *call)
{
    io_place at;
    const char *name;
    int parent = open_written_parent(state, call, &at, &name);
    if (parent < 0)
        IO_RETURN(int32_t, parent);
    int32_t result = unlinkat(parent, name, IO_ARG(int32_t, 2) ? AT_REMOVEDIR : 0) ? -errno : 0;
    close(parent);
    IO_RETURN(int32_t, result);
}
