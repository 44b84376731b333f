// A ring of each thread that serves, by the system calls themselves. What a file has in memory is
// taken at once; what is left is read and written side by side by the system's own threads. Start
// at io_ring_run.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // syscall
#endif
#include "rt/io/ring.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SEND_FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL, ACCEPT_FLAGS = SOCK_CLOEXEC | SOCK_NONBLOCK };

static ssize_t one(const io_job *j)
{
    switch (j->what) {
    case IO_PREAD: return pread(j->fd, j->at, j->bytes, j->offset);
    case IO_PWRITE: return pwrite(j->fd, j->at, j->bytes, j->offset);
    case IO_RECEIVE: return recv(j->fd, j->at, j->bytes, MSG_DONTWAIT);
    case IO_SEND: return send(j->fd, j->at, j->bytes, SEND_FLAGS);
    case IO_ACCEPT: return accept4(j->fd, NULL, NULL, ACCEPT_FLAGS);
    }
    return -1;
}

// How many of them, from the first on, follow each other in one file.
static uint32_t run_length(const io_job *jobs, uint32_t count)
{
    uint32_t n = 1;
    while (n < count && jobs[n].fd == jobs[0].fd && jobs[n].what == jobs[0].what && jobs[n].bytes &&
           jobs[n - 1].bytes &&
           (uint64_t)jobs[n].offset == (uint64_t)jobs[n - 1].offset + jobs[n - 1].bytes)
        n++;
    return n;
}

// Of which nothing was transferred is tried again by itself: the end of the file, a full disk.
static void join(io_job *jobs, uint32_t count)
{
    struct iovec parts[IO_RING_JOBS];
    for (uint32_t n = 0; n < count; n++)
        parts[n] = (struct iovec){jobs[n].at, jobs[n].bytes};
    ssize_t left = jobs[0].what == IO_PWRITE
                       ? pwritev(jobs[0].fd, parts, (int)count, jobs[0].offset)
                       : preadv(jobs[0].fd, parts, (int)count, jobs[0].offset);
    for (uint32_t n = 0; n < count; n++) {
        jobs[n].result = left < (ssize_t)jobs[n].bytes ? left : (ssize_t)jobs[n].bytes;
        if (left <= 0)
            io_plain_run(&jobs[n], 1);
        else
            left -= jobs[n].result;
    }
}

uint32_t io_joined_run(io_job *jobs, uint32_t count)
{
    io_job done[IO_RING_JOBS];
    uint32_t left = 0, made = 0;
    for (uint32_t n = 0, run; n < count; n += run) {
        run = run_length(jobs + n, count - n);
        if (run > 1)
            join(jobs + n, run);
        for (uint32_t k = n; k < n + run; k++)
            if (run > 1)
                done[made++] = jobs[k];
            else
                jobs[left++] = jobs[k];
    }
    for (uint32_t k = 0; k < made; k++)
        jobs[left + k] = done[k];
    return left;
}

void io_plain_run(io_job *jobs, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++) {
        ssize_t done;
        do
            done = one(&jobs[n]);
        while (done < 0 && errno == EINTR);
        jobs[n].result = done < 0 ? -errno : done;
    }
}

#if defined(__linux__)
#    include <pthread.h>
#    include <stdlib.h>
#    include <string.h>
#    include <sys/mman.h>
#    include <sys/syscall.h>

#    include "base/knobs.h"

// The system's side of it, which is the same for all processors: its header may be older than the
// system, or missing.
enum { SETUP = 425, ENTER = 426 }; // system calls
static const uint8_t opcodes[] = {
    [IO_PREAD] = 22, [IO_PWRITE] = 23, [IO_RECEIVE] = 27, [IO_SEND] = 26};
enum { ONE_MAPPING = 1, NOTHING_DROPPED = 2, WAIT = 1, NO_WAIT = 8 };
enum { RINGS_AT = 0, ENTRIES_AT = 0x10000000 };

typedef struct ring_entry {
    uint8_t opcode, flags;
    uint16_t priority;
    int32_t fd;
    uint64_t offset, at;
    uint32_t bytes, how;
    uint64_t user, unused[3];
} ring_entry;

typedef struct ring_done {
    uint64_t user;
    int32_t result;
    uint32_t flags;
} ring_done;

typedef struct ring_setup {
    uint32_t entries, done_entries, flags, thread_cpu, thread_idle, features, other, unused[3];
    struct {
        uint32_t head, tail, mask, entries, flags, dropped, array, unused;
        uint64_t address;
    } asked;
    struct {
        uint32_t head, tail, mask, entries, overflow, done, flags, unused;
        uint64_t address;
    } done;
} ring_setup;
_Static_assert(sizeof(ring_entry) == 64 && sizeof(ring_done) == 16 && sizeof(ring_setup) == 120,
               "as the system has them");

typedef struct ring {
    int fd; // -1: this thread has none
    uint8_t *memory;
    size_t memory_bytes, entry_bytes;
    ring_entry *entries;
    uint32_t *tail, *mask, *array;               // of what is asked for
    uint32_t *done_head, *done_tail, *done_mask; // of what is done
    ring_done *done;
} ring;

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;

static void ring_close(ring *r)
{
    if (r->memory)
        munmap(r->memory, r->memory_bytes);
    if (r->entries)
        munmap(r->entries, r->entry_bytes);
    if (r->fd >= 0)
        close(r->fd);
    *r = (ring){.fd = -1};
}

static void ring_free(void *user)
{
    ring_close(user);
    free(user);
}

static void make_key(void)
{
    has_key = !pthread_key_create(&key, ring_free);
}

static void *map(int fd, size_t bytes, long offset)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);
    return at == MAP_FAILED ? NULL : at;
}

static uint32_t *word_of(const ring *r, uint32_t offset)
{
    return (uint32_t *)(void *)(r->memory + offset);
}

// False: the system does not have one for us.
static bool ring_open(ring *r)
{
    ring_setup p;
    uint32_t needed = ONE_MAPPING | NOTHING_DROPPED;
    memset(&p, 0, sizeof p);
    r->fd = (int)syscall(SETUP, (unsigned)IO_RING_JOBS, &p);
    if (r->fd < 0 || (p.features & needed) != needed || p.entries < IO_RING_JOBS)
        return false;
    size_t asked = p.asked.array + p.entries * sizeof(uint32_t),
           done = p.done.done + p.done_entries * sizeof(ring_done);
    r->memory_bytes = asked > done ? asked : done;
    r->entry_bytes = p.entries * sizeof(ring_entry);
    r->memory = map(r->fd, r->memory_bytes, RINGS_AT);
    r->entries = map(r->fd, r->entry_bytes, ENTRIES_AT);
    if (!r->memory || !r->entries)
        return false;
    r->tail = word_of(r, p.asked.tail);
    r->mask = word_of(r, p.asked.mask);
    r->array = word_of(r, p.asked.array);
    r->done_head = word_of(r, p.done.head);
    r->done_tail = word_of(r, p.done.tail);
    r->done_mask = word_of(r, p.done.mask);
    r->done = (ring_done *)(void *)(r->memory + p.done.done);
    return true;
}

// This thread's, made on first need; NULL: there is none.
static ring *ring_here(void)
{
    pthread_once(&once, make_key);
    ring *r = has_key ? pthread_getspecific(key) : NULL;
    if (!r && has_key) {
        r = calloc(1, sizeof *r);
        if (!r)
            return NULL;
        if (!ring_open(r))
            ring_close(r);
        if (pthread_setspecific(key, r)) {
            ring_free(r);
            return NULL;
        }
    }
    return r && r->fd >= 0 ? r : NULL;
}

// Those that `wanted` names; false: the ring does not work, and nothing was done.
static bool run(ring *r, io_job *jobs, uint32_t wanted, uint32_t how)
{
    uint32_t tail = *r->tail, asked = 0;
    for (uint32_t left = wanted; left; left &= left - 1, asked++) {
        uint32_t n = (uint32_t)__builtin_ctz(left), place = (tail + asked) & *r->mask;
        const io_job *j = &jobs[n];
        ring_entry e = {.fd = j->fd, .bytes = j->bytes, .how = how, .user = n};
        e.opcode = opcodes[j->what];
        e.offset = (uint64_t)j->offset;
        e.at = (uint64_t)(uintptr_t)j->at;
        if (j->what == IO_RECEIVE)
            e.how = MSG_DONTWAIT;
        else if (j->what == IO_SEND)
            e.how = SEND_FLAGS;
        r->entries[place] = e;
        r->array[place] = place;
    }
    __atomic_store_n(r->tail, tail + asked, __ATOMIC_RELEASE);
    for (uint32_t given = 0, came = 0; came < asked;) {
        long taken = syscall(ENTER, r->fd, asked - given, asked - came, (unsigned)WAIT, NULL, 0);
        // What was taken will be done: it is waited for, whatever happens.
        if (taken < 0 && !given && errno != EINTR && errno != EAGAIN && errno != EBUSY)
            return false;
        given += taken > 0 ? (uint32_t)taken : 0;
        uint32_t head = *r->done_head, end = __atomic_load_n(r->done_tail, __ATOMIC_ACQUIRE);
        for (; head != end; head++, came++) {
            const ring_done *d = &r->done[head & *r->done_mask];
            jobs[d->user % IO_RING_JOBS].result = d->result;
        }
        __atomic_store_n(r->done_head, head, __ATOMIC_RELEASE);
    }
    return true;
}

static uint32_t those_with(const io_job *jobs, uint32_t wanted, int64_t result)
{
    uint32_t those = 0;
    for (uint32_t left = wanted; left; left &= left - 1) {
        uint32_t n = (uint32_t)__builtin_ctz(left);
        those |= jobs[n].result == result ? UINT32_C(1) << n : 0;
    }
    return those;
}

// This thread's, when it can take so many; NULL: there is none.
static ring *ring_for(uint32_t count)
{
    bool is_plain = !strcmp(knob_text(KNOB_IO), "plain");
    return is_plain || !count || count > IO_RING_JOBS ? NULL : ring_here();
}

bool io_ring_try(io_job *jobs, uint32_t count)
{
    ring *r = jobs[0].what == IO_ACCEPT ? NULL : ring_for(count);
    if (r && !run(r, jobs, UINT32_MAX >> (IO_RING_JOBS - count), 0)) {
        ring_close(r);
        return false;
    }
    for (uint32_t n = 0; r && n < count; n++) // an older system lacks one of these
        if (jobs[n].result == -EINVAL || jobs[n].result == -EOPNOTSUPP)
            io_plain_run(&jobs[n], 1);
    return r != NULL;
}

bool io_ring_run(io_job *jobs, uint32_t count)
{
    ring *r = ring_for(count);
    uint32_t all = UINT32_MAX >> (IO_RING_JOBS - count);
    if (!r)
        return false;
    if (!run(r, jobs, all, NO_WAIT)) {
        ring_close(r);
        return false;
    }
    uint32_t late = those_with(jobs, all, -EAGAIN),
             plain = those_with(jobs, all, -EOPNOTSUPP) | those_with(jobs, all, -EINTR);
    if (late && !run(r, jobs, late, 0)) {
        plain |= late;
        ring_close(r);
    }
    for (uint32_t left = plain; left; left &= left - 1) {
        io_job *j = &jobs[__builtin_ctz(left)];
        j->is_plain = j->result == -EOPNOTSUPP;
        io_plain_run(j, 1);
    }
    return true;
}
#else
bool io_ring_run(io_job *jobs, uint32_t count)
{
    (void)jobs;
    (void)count;
    return false;
}
bool io_ring_try(io_job *jobs, uint32_t count)
{
    return io_ring_run(jobs, count);
}
#endif
