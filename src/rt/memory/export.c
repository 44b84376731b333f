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

bool export_has(const kiln_buffer *b)
{
    if (!__atomic_load_n(&b->k->has_exports, __ATOMIC_RELAXED))
        return false;
    enter();
    bool holds = b->exports || b->is_back;
    leave();
    return holds;
}

// The next one that came back; NULL: none.
static kiln_buffer *next_back(kiln *k)
{
    enter();
    kiln_buffer *b = k->back;
    if (b) {
        k->back = b->next_back;
        b->is_back = false;
    }
    leave();
    return b;
}

void export_collect(kiln *k)
{
    kiln_buffer *b;
    if (!__atomic_load_n(&k->has_exports, __ATOMIC_RELAXED) || context_is_within(k))
        return;
    while ((b = next_back(k)) != NULL)
        buffer_drop_unused(b);
}

bool export_outlives(kiln *k)
{
    enter();
    for (kiln_buffer *b = k->buffers; b; b = b->next) {
        if (b->references)
            handle_retire(b);
        b->references = b->holds = 0;
    }
    // What a buffer's end brings back may be any of the others: begin again after each one.
    for (kiln_buffer *b = k->buffers; b;) {
        bool holds = b->exports || b->is_back;
        if (!holds)
            buffer_drop(b);
        b = holds ? b->next : k->buffers;
        if (!b && k->back) {
            next_back(k);
            b = k->buffers;
        }
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
    uint64_t id = handle_id(HANDLE_CONTEXT, k);
    b->exports--;
    if (k->is_closed) {
        if (!b->exports)
            buffer_drop(b);
        // Its end may have brought back others, and the last of them ended the context.
        if (handle_id(HANDLE_CONTEXT, k) == id && !k->buffers)
            context_finish(k);
    } else if (!b->exports && !b->is_back) {
        b->is_back = true;
        b->next_back = k->back;
        k->back = b;
    }
    leave();
}
