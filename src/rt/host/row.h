// A host function as the two files know it that call one: host.c for a lane, group.c for a warp.
#ifndef KILN_RT_HOST_ROW_H
#define KILN_RT_HOST_ROW_H

#include <pthread.h>

#include "rt/host/host.h"

struct host_row {
    kiln *k;
    char *name, *signature; // signature: NULL for any
    const char *shape;      // of a service: how its arguments travel; NULL: any
    kiln_host_desc given;
    host_together *together; // NULL: there is none
    void *library;           // closed with the row
    pthread_mutex_t lock;
    const void *holder; // host_thread of who has the lock; NULL: nobody; atomic
    host_row *next;
};

extern _Thread_local char host_thread; // its address is the thread's name

// One call at a time, and who makes it.
static inline void row_lock(const host_row *row)
{
    host_row *own = (host_row *)(uintptr_t)row;
    pthread_mutex_lock(&own->lock);
    __atomic_store_n(&own->holder, &host_thread, __ATOMIC_RELAXED);
}

static inline void row_unlock(const host_row *row)
{
    host_row *own = (host_row *)(uintptr_t)row;
    __atomic_store_n(&own->holder, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&own->lock);
}

typedef struct stop_note { // behind kiln_host_call.inside
    char *text;
    size_t size;
    bool is_set;
} stop_note;

typedef union host_object {
    uint8_t bytes[HOST_BYTES];
    _Alignas(16) uint64_t words[HOST_BYTES / 8];
} host_object;

// Calls what the row has, one at a time unless it allows more.
void host_enter(const host_site *site, const kiln_host_call *call);

#endif
