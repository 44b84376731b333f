// A ring of each thread that serves, by the system calls themselves. What a file has in memory is
// taken at once (RWF_NOWAIT); what is left is read and written side by side by the system's own
// threads. Start at io_ring_run.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // RWF_NOWAIT
#endif
#include "rt/io/ring.h"

#include <errno.h>
#include <unistd.h>

void io_plain_run(io_job *jobs, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++) {
        io_job *j = &jobs[n];
        ssize_t done;
        do
            done = j->is_write ? pwrite(j->fd, j->at, j->bytes, j->offset)
                               : pread(j->fd, j->at, j->bytes, j->offset);
        while (done < 0 && errno == EINTR);
        j->result = done < 0 ? -errno : done;
    }
}

#if defined(__linux__) && defined(__has_include)
#    if __has_include(<linux/io_uring.h>)
#        define HAS_RING
#    endif
#endif

#ifdef HAS_RING
#    include <linux/io_uring.h>
#    include <pthread.h>
#    include <stdlib.h>
#    include <string.h>
#    include <sys/mman.h>
#    include <sys/syscall.h>
#    include <sys/uio.h>

#    include "base/knobs.h"

typedef struct ring {
    int fd; // -1: this thread has none
    uint8_t *memory;
    size_t memory_bytes, entry_bytes;
    struct io_uring_sqe *entries;
    uint32_t *tail, *mask, *array;            // of what is asked for
    uint32_t *done_head, *done_tail, *done_mask; // of what is done
    struct io_uring_cqe *done;
} ring;

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;

static void ring_free(void *user)
{
    ring *r = user;
    if (r->memory)
        munmap(r->memory, r->memory_bytes);
    if (r->entries)
        munmap(r->entries, r->entry_bytes);
    if (r->fd >= 0)
        close(r->fd);
    free(r);
}

static void make_key(void)
{
    has_key = !pthread_key_create(&key, ring_free);
}

static void *map(int fd, size_t bytes, uint64_t offset)
{
    void *at =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)offset);
    return at == MAP_FAILED ? NULL : at;
}

// False: the system does not have one for us.
static bool ring_open(ring *r)
{
    struct io_uring_params p;
    memset(&p, 0, sizeof p);
    r->fd = (int)syscall(__NR_io_uring_setup, IO_RING_JOBS, &p);
    uint32_t needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP;
    if (r->fd < 0 || (p.features & needed) != needed)
        return false;
    size_t asked = p.sq_off.array + p.sq_entries * sizeof(uint32_t),
           done = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
    r->memory_bytes = asked > done ? asked : done;
    r->entry_bytes = p.sq_entries * sizeof(struct io_uring_sqe);
    r->memory = map(r->fd, r->memory_bytes, IORING_OFF_SQ_RING);
    r->entries = map(r->fd, r->entry_bytes, IORING_OFF_SQES);
    if (!r->memory || !r->entries)
        return false;
    r->tail = (uint32_t *)(void *)(r->memory + p.sq_off.tail);
    r->mask = (uint32_t *)(void *)(r->memory + p.sq_off.ring_mask);
    r->array = (uint32_t *)(void *)(r->memory + p.sq_off.array);
    r->done_head = (uint32_t *)(void *)(r->memory + p.cq_off.head);
    r->done_tail = (uint32_t *)(void *)(r->memory + p.cq_off.tail);
    r->done_mask = (uint32_t *)(void *)(r->memory + p.cq_off.ring_mask);
    r->done = (struct io_uring_cqe *)(void *)(r->memory + p.cq_off.cqes);
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
        if (!ring_open(r)) {
            if (r->fd >= 0)
                close(r->fd);
            r->fd = -1;
        }
        if (pthread_setspecific(key, r)) {
            ring_free(r);
            return NULL;
        }
    }
    return r && r->fd >= 0 ? r : NULL;
}

// Those that `wanted` names; false: the ring does not work, and those have no result.
static bool run(ring *r, io_job *jobs, uint32_t wanted, uint32_t flags)
{
    uint32_t tail = *r->tail, asked = 0;
    for (uint32_t left = wanted; left; left &= left - 1, asked++) {
        uint32_t n = (uint32_t)__builtin_ctz(left), place = (tail + asked) & *r->mask;
        const io_job *j = &jobs[n];
        r->entries[place] = (struct io_uring_sqe){
            .opcode = j->is_write ? IORING_OP_WRITE : IORING_OP_READ,
            .fd = j->fd,
            .addr = (uint64_t)(uintptr_t)j->at,
            .len = j->bytes,
            .off = (uint64_t)j->offset,
            .rw_flags = flags,
            .user_data = n};
        r->array[place] = place;
    }
    __atomic_store_n(r->tail, tail + asked, __ATOMIC_RELEASE);
    for (uint32_t given = 0, came = 0; came < asked;) {
        long taken = syscall(__NR_io_uring_enter, r->fd, asked - given, asked - came,
                             IORING_ENTER_GETEVENTS, NULL, 0);
        // What was taken will be done: it is waited for, whatever happens.
        if (taken < 0 && !given && errno != EINTR && errno != EAGAIN && errno != EBUSY)
            return false;
        given += taken > 0 ? (uint32_t)taken : 0;
        uint32_t head = *r->done_head, end = __atomic_load_n(r->done_tail, __ATOMIC_ACQUIRE);
        for (; head != end; head++, came++) {
            const struct io_uring_cqe *c = &r->done[head & *r->done_mask];
            jobs[c->user_data % IO_RING_JOBS].result = c->res;
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

bool io_ring_run(io_job *jobs, uint32_t count)
{
    if (!strcmp(knob_text(KNOB_IO), "plain") || count > IO_RING_JOBS)
        return false;
    ring *r = ring_here();
    uint32_t all = count == IO_RING_JOBS ? UINT32_MAX : (UINT32_C(1) << count) - 1;
    for (uint32_t n = 0; n < count; n++)
        jobs[n].result = -ENODATA;
    if (!r)
        return false;
    if (run(r, jobs, all, RWF_NOWAIT)) {
        uint32_t late = those_with(jobs, all, -EAGAIN), plain = those_with(jobs, all, -EOPNOTSUPP) |
                                                            those_with(jobs, all, -EINTR);
        if (late && !run(r, jobs, late, 0))
            plain |= those_with(jobs, all, -EAGAIN);
        for (uint32_t left = plain; left; left &= left - 1) {
            io_job *j = &jobs[__builtin_ctz(left)];
            j->is_plain = j->result == -EOPNOTSUPP;
            io_plain_run(j, 1);
        }
        return true;
    }
    close(r->fd);
    r->fd = -1;
    return false;
}
#else
bool io_ring_run(io_job *jobs, uint32_t count)
{
    (void)jobs;
    (void)count;
    return false;
}
#endif
