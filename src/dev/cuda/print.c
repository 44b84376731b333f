// Lines of printf while kernels run: one thread goes through the rings of all modules that print,
// as long as some launch has not been waited for. Where many lines are, a pool of threads formats
// them. A ring comes from a GPU: lengths are checked, and
// a ring that makes no sense is not read any more, but nobody waits for room in it either.
#include "dev/cuda/cuda.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "rt/channel/print_pool.h"
#include "rt/channel/reader.h"

typedef struct cuda_printer {
    pthread_t thread;
    pthread_mutex_t lock; // of everything, the channels' places too
    pthread_cond_t changed;
    cuda_channel *channels;
    bool is_stopping;
    uint32_t is_awake;  // atomic: some launch has not been waited for
    uint32_t is_asleep; // atomic: the thread waits for `changed`
    print_pool *pool;   // NULL: until there are many lines; not on a small machine
    bool has_given;
    uint32_t wanted; // atomic: others that wait for the lock
} cuda_printer;

// The thread that reads gives way.
static void lock(cuda_printer *p)
{
    __atomic_fetch_add(&p->wanted, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_lock(&p->lock);
    __atomic_fetch_sub(&p->wanted, 1, __ATOMIC_ACQ_REL);
}

enum { MANY = 1 << 14, POOL_THREADS = 8 }; // bytes of lines that are worth a pool
enum { FEW_ROUNDS = 200, MORE_ROUNDS = 400, LAST_ROUNDS = 40 }; // in silence

// The length of what is at this place of the ring; 0: nothing is there yet.
static uint32_t next_length(cuda_channel *c, uint64_t place, uint32_t *from, bool *is_line)
{
    uint32_t capacity = CUDA_RING_BYTES;
    *from = (uint32_t)(place % capacity);
    uint32_t bytes = __atomic_load_n((uint32_t *)(void *)(c->ring + *from), __ATOMIC_ACQUIRE);
    uint32_t len = CHANNEL_BYTES(bytes);
    *is_line = !(bytes & CHANNEL_SKIP);
    c->is_broken |= len % 8 || len > capacity - *from || (bytes && !len);
    return c->is_broken ? 0 : len;
}

// What was read is free for the GPU.
static void go_past(cuda_channel *c, uint32_t from, uint32_t len)
{
    memset(c->ring + from, 0, len);
    c->read += len;
    __atomic_store_n(&c->tail->position, c->read, __ATOMIC_RELEASE);
}

// What the pool has is printed.
static void wait_for_pool(cuda_printer *p)
{
    if (p->has_given)
        print_pool_wait(p->pool);
    p->has_given = false;
}

static void print_lines(cuda_printer *p, kiln_module *m, const uint8_t *lines, uint32_t len)
{
    if (!p->pool && len >= MANY && sysconf(_SC_NPROCESSORS_ONLN) >= POOL_THREADS)
        p->pool = print_pool_new((uint32_t)sysconf(_SC_NPROCESSORS_ONLN) / 2);
    // A few lines behind many go the same way: the order stays, and nobody waits for the pool.
    if (p->pool && len <= PRINT_POOL_BATCH && (len >= MANY || p->has_given)) {
        p->has_given = true;
        print_pool_give(p->pool, m, lines, len);
        return;
    }
    wait_for_pool(p);
    channel_print_lines(m, lines, len);
}

// How many bytes were read. Lines that lie one after the other are taken together. A kernel may
// print for ever: about `most` bytes are enough.
static uint64_t read_lines(cuda_printer *p, cuda_channel *c, uint64_t most)
{
    uint32_t from, len;
    bool is_line;
    uint64_t start = c->read, bytes;
    while (c->read - start < most && (len = next_length(c, c->read, &from, &is_line)) != 0) {
        uint32_t next, more = 0;
        bool is_next = is_line;
        while (is_line && is_next && len < PRINT_POOL_BATCH) {
            more = next_length(c, c->read + len, &next, &is_next);
            if (!more || !is_next || next < from || len + more > PRINT_POOL_BATCH)
                break;
            len += more;
        }
        if (is_line)
            print_lines(p, c->module, c->ring + from, len);
        go_past(c, from, len);
    }
    bytes = c->read - start;
    if (c->is_broken) {
        c->read += CUDA_RING_BYTES;
        __atomic_store_n(&c->tail->position, c->read, __ATOMIC_RELEASE);
    }
    return bytes;
}

// Either this thread sees the launch, or the launch sees that it sleeps.
static void sleep_until_launch(cuda_printer *p)
{
    __atomic_store_n(&p->is_asleep, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&p->is_awake, __ATOMIC_SEQ_CST) && !p->is_stopping)
        pthread_cond_wait(&p->changed, &p->lock);
    __atomic_store_n(&p->is_asleep, 0, __ATOMIC_SEQ_CST);
}

static void *printer_main(void *user)
{
    cuda_printer *p = user;
    uint32_t silent = 0, rest = 0; // rounds: without lines, without launches
    pthread_mutex_lock(&p->lock);
    while (!p->is_stopping) {
        uint64_t bytes = 0;
        // Who launches and waits in turns does not wake it each time: it stays for a while.
        if (!__atomic_load_n(&p->is_awake, __ATOMIC_ACQUIRE) && rest++ >= LAST_ROUNDS) {
            sleep_until_launch(p);
            silent = rest = 0;
            continue;
        }
        for (cuda_channel *c = p->channels; c; c = c->next)
            bytes += read_lines(p, c, CUDA_RING_BYTES);
        silent = bytes ? 0 : silent + (silent < UINT32_MAX);
        rest = __atomic_load_n(&p->is_awake, __ATOMIC_ACQUIRE) ? 0 : rest;
        pthread_mutex_unlock(&p->lock);
        if (bytes < MANY) // more lines at a time: 20 us, in silence 500, then 4000
            nanosleep(&(struct timespec){0, silent < FEW_ROUNDS    ? 20000
                                            : silent < MORE_ROUNDS ? 500000
                                                                   : 4000000},
                      NULL);
        while (__atomic_load_n(&p->wanted, __ATOMIC_ACQUIRE))
            sched_yield();
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static cuda_printer *printer_new(void)
{
    cuda_printer *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    if (!pthread_create(&p->thread, NULL, printer_main, p))
        return p;
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->changed);
    free(p);
    return NULL;
}

bool cuda_printer_add(cuda_device *d, cuda_channel *c)
{
    if (!d->printer) // threads that serve calls look at it
        __atomic_store_n(&d->printer, printer_new(), __ATOMIC_RELEASE);
    if (!d->printer)
        return false;
    lock(d->printer);
    c->next = d->printer->channels;
    d->printer->channels = c;
    pthread_mutex_unlock(&d->printer->lock);
    return true;
}

void cuda_printer_remove(cuda_device *d, cuda_channel *c)
{
    if (!d->printer || !c->tail)
        return;
    lock(d->printer);
    wait_for_pool(d->printer); // it may have lines of this module
    for (cuda_channel **at = &d->printer->channels; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    pthread_mutex_unlock(&d->printer->lock);
}

void cuda_printer_wake(cuda_device *d)
{
    cuda_printer *p = d->printer;
    if (!p || __atomic_load_n(&p->is_awake, __ATOMIC_ACQUIRE))
        return;
    __atomic_store_n(&p->is_awake, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&p->is_asleep, __ATOMIC_SEQ_CST))
        return;
    lock(p);
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

void cuda_print_lines(kiln *k)
{
    cuda_printer *p = __atomic_load_n(&cuda_of(k)->printer, __ATOMIC_ACQUIRE);
    if (!p)
        return;
    lock(p);
    for (cuda_channel *c = p->channels; c; c = c->next)
        read_lines(p, c, CUDA_RING_BYTES);
    wait_for_pool(p);
    pthread_mutex_unlock(&p->lock);
}

void cuda_printer_rest(cuda_device *d, cuda_channel *c, uint64_t end)
{
    cuda_printer *p = d->printer;
    lock(p);
    __atomic_store_n(&p->is_awake, 0, __ATOMIC_RELEASE);
    read_lines(p, c, UINT64_MAX);
    wait_for_pool(p);
    if (c->read != end) { // somebody was stopped within a line
        memset(c->ring, 0, CUDA_RING_BYTES);
        c->is_broken = false;
        c->read = end;
        __atomic_store_n(&c->tail->position, end, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&p->lock);
}

void cuda_printer_salvage(cuda_device *d, cuda_channel *c)
{
    cuda_printer *p = d->printer;
    lock(p);
    __atomic_store_n(&p->is_awake, 0, __ATOMIC_RELEASE);
    read_lines(p, c, UINT64_MAX);
    wait_for_pool(p);
    pthread_mutex_unlock(&p->lock);
}

void cuda_printer_close(cuda_device *d)
{
    cuda_printer *p = d->printer;
    if (!p)
        return;
    lock(p);
    p->is_stopping = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    print_pool_free(p->pool);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->changed);
    free(p);
    d->printer = NULL;
}
