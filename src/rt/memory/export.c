// Buffers that foreign libraries hold (DLPack): they let go of them whenever they like, on any
// thread, maybe after kiln_close. A handle is for one thread at a time, so what comes back waits in
// a list until the next call that makes or frees a buffer. After kiln_close no such call comes: the
// thread that brings back the last one ends the context. Start reading at buffer_export_end.
#include <pthread.h>

#include "rt/memory/export.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock; // of all exports; recursive: a release callback may bring back others

static void make_lock(void)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &kind);
    pthread_mutexattr_destroy(&kind);
}

static void enter(void)
{
    pthread_once(&once, make_lock);
    pthread_mutex_lock(&lock);
}

static void leave(void)
{
    pthread_mutex_unlock(&lock);
}

void buffer_export(kiln_buffer *b)
{
    enter();
    b->exports++;
    __atomic_store_n(&b->k->has_exports, true, __ATOMIC_RELAXED);
    leave();
}

void export_collect(kiln *k)
{
    if (!__atomic_load_n(&k->has_exports, __ATOMIC_RELAXED))
        return;
    enter();
    kiln_buffer *back = k->back;
    k->back = NULL;
    leave();
    while (back) {
        kiln_buffer *b = back;
        back = b->next_back;
        b->next_back = NULL;
        b->is_back = false;
        buffer_drop_unused(b);
    }
}

bool export_outlives(kiln *k)
{
    export_collect(k);
    enter();
    for (kiln_buffer *b = k->buffers, *next; b; b = next) {
        next = b->next;
        if (b->references)
            handle_retire(b);
        b->references = b->holds = 0;
        buffer_drop_unused(b);
    }
    while (k->back) { // a release callback brought it
        kiln_buffer *b = k->back;
        k->back = b->next_back;
        buffer_drop_unused(b);
    }
    k->is_closed = k->buffers != NULL;
    if (k->is_closed)
        handle_retire(k);
    bool waits = k->is_closed;
    leave();
    return waits;
}

void buffer_export_end(kiln_buffer *b)
{
    enter();
    kiln *k = b->k;
    b->exports--;
    if (k->is_closed) {
        buffer_drop_unused(b);
        if (!k->buffers)
            context_finish(k);
    } else if (!b->exports && !b->is_back) {
        b->is_back = true;
        b->next_back = k->back;
        k->back = b;
    }
    leave();
}
