// Threads that stay: starting one costs more than most launches. One piece of work at a time; a
// launch that finds the pool busy (another context's) does its work alone. The caller works, too,
// and waits for those threads only that have joined: waking one up can take longer than the work.
// After a fork the child starts anew.
#include "dev/cpu/cpu.h"

#include <pthread.h>

enum { MOST = 256 };

static struct {
    pthread_mutex_t busy; // held for one pool_run
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    uint32_t started; // the caller among them; 0: none yet in this process
    uint32_t wanted;  // threads that may still join the round; 0: it is over
    uint32_t running; // those that have joined it, but for the caller
    uint64_t round;
    void (*work)(void *, uint32_t);
    void *user;
} pool = {.busy = PTHREAD_MUTEX_INITIALIZER,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .idle = PTHREAD_COND_INITIALIZER};

static void *worker(void *index_pointer)
{
    uint32_t index = (uint32_t)(uintptr_t)index_pointer;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.round == seen)
            pthread_cond_wait(&pool.wake, &pool.lock);
        seen = pool.round;
        if (index >= pool.wanted)
            continue;
        pool.running++;
        void (*work)(void *, uint32_t) = pool.work;
        void *user = pool.user;
        pthread_mutex_unlock(&pool.lock);
        work(user, index);
        pthread_mutex_lock(&pool.lock);
        if (--pool.running == 0)
            pthread_cond_signal(&pool.idle);
    }
    return NULL;
}

// In the child of a fork: its parent's threads are not there, but the locks and conditions still
// count them, held or waiting.
static void start_anew(void)
{
    pool.busy = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pool.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pool.wake = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pool.idle = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pool.started = pool.wanted = pool.running = 0;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, start_anew);
}

// With the lock held. Fewer threads than wanted is no reason to fail.
static void start_more(uint32_t threads)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    if (!pool.started)
        pool.started = 1;
    pthread_attr_t attr;
    if (pthread_attr_init(&attr))
        return;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    while (pool.started < threads) {
        pthread_t id;
        if (pthread_create(&id, &attr, worker, (void *)(uintptr_t)pool.started))
            break;
        pool.started++;
    }
    pthread_attr_destroy(&attr);
}

void pool_run(uint32_t threads, void (*work)(void *user, uint32_t index), void *user)
{
    if (threads > MOST)
        threads = MOST;
    if (threads < 2 || pthread_mutex_trylock(&pool.busy)) {
        work(user, 0);
        return;
    }
    pthread_mutex_lock(&pool.lock);
    start_more(threads);
    pool.wanted = threads < pool.started ? threads : pool.started;
    pool.work = work;
    pool.user = user;
    pool.round++;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    work(user, 0);
    pthread_mutex_lock(&pool.lock);
    pool.wanted = 0; // nothing is left for one that has not woken up yet
    while (pool.running)
        pthread_cond_wait(&pool.idle, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    pthread_mutex_unlock(&pool.busy);
}
