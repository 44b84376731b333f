// Batches lie in a few slots, used in turns. Three counts say how far they are: given, taken by a
// thread, printed; a thread prints when all batches before its own are. Start at work.
#include "rt/channel/print_pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "rt/channel/reader.h"

enum { SLOTS = 16, MOST_THREADS = 8 };

typedef struct batch {
    kiln_module *m;
    size_t len;
    uint8_t lines[PRINT_POOL_BATCH];
} batch;

struct print_pool {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t given, taken, printed; // batches, since the beginning
    bool is_stopping;
    uint32_t thread_count;
    pthread_t threads[MOST_THREADS];
    batch slots[SLOTS];
};

static void *work(void *user)
{
    print_pool *t = user;
    print_out out = {0};
    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (t->taken == t->given && !t->is_stopping)
            pthread_cond_wait(&t->changed, &t->lock);
        if (t->taken == t->given)
            break;
        uint64_t mine = t->taken++;
        const batch *b = &t->slots[mine % SLOTS];
        pthread_mutex_unlock(&t->lock);
        out.len = 0;
        channel_format_lines(b->m, b->lines, b->len, &out);
        pthread_mutex_lock(&t->lock);
        while (t->printed != mine)
            pthread_cond_wait(&t->changed, &t->lock);
        pthread_mutex_unlock(&t->lock);
        if (out.len)
            context_print(b->m->k, out.at, out.len);
        pthread_mutex_lock(&t->lock);
        t->printed++;
        pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
    print_free(&out);
    return NULL;
}

print_pool *print_pool_new(uint32_t threads)
{
    print_pool *t = threads ? calloc(1, sizeof *t) : NULL;
    if (!t)
        return NULL;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    while (t->thread_count < threads && t->thread_count < MOST_THREADS &&
           !pthread_create(&t->threads[t->thread_count], NULL, work, t))
        t->thread_count++;
    if (t->thread_count)
        return t;
    print_pool_free(t);
    return NULL;
}

void print_pool_free(print_pool *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->is_stopping = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    for (uint32_t n = 0; n < t->thread_count; n++)
        pthread_join(t->threads[n], NULL);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->changed);
    free(t);
}

void print_pool_give(print_pool *t, kiln_module *m, const uint8_t *lines, size_t len)
{
    pthread_mutex_lock(&t->lock);
    while (t->given - t->printed >= SLOTS)
        pthread_cond_wait(&t->changed, &t->lock);
    batch *b = &t->slots[t->given % SLOTS];
    pthread_mutex_unlock(&t->lock);
    b->m = m;
    b->len = len < PRINT_POOL_BATCH ? len : PRINT_POOL_BATCH;
    memcpy(b->lines, lines, b->len);
    pthread_mutex_lock(&t->lock);
    t->given++;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

void print_pool_wait(print_pool *t)
{
    pthread_mutex_lock(&t->lock);
    while (t->printed != t->given)
        pthread_cond_wait(&t->changed, &t->lock);
    pthread_mutex_unlock(&t->lock);
}
