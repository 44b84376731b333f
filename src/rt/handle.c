// Handles: fixed-size records in tables that live as long as the process. A freed record keeps a
// poisoned magic until it is used again, oldest first, so that a stale handle is found out.
#include <pthread.h>
#include <stdlib.h>

#include "rt/rt.h"

typedef struct link { // a free record: the magic stays where it is
    uint64_t magic;
    struct link *next;
} link;

static const uint64_t magics[HANDLE_KIND_COUNT] = {
    0x6b696c6e2d637478, 0x6b696c6e2d6d6f64, 0x6b696c6e2d6b726e, 0x6b696c6e2d627566,
    0x6b696c6e2d737472, 0x6b696c6e2d657674, 0x6b696c6e2d677261};
static const uint64_t poison = 0xdead6b696c6edead;
static const size_t sizes[HANDLE_KIND_COUNT] = {
    sizeof(kiln),        sizeof(kiln_module), sizeof(kiln_kernel), sizeof(kiln_buffer),
    sizeof(kiln_stream), sizeof(kiln_event),  sizeof(kiln_graph)};
enum { PER_TABLE = 32, KEEP_FREE = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    link *first, *last;
    size_t count;
} spare[HANDLE_KIND_COUNT];
static void *tables[HANDLE_KIND_COUNT]; // the newest; each begins with a pointer to the one before

static void push(handle_kind kind, void *record)
{
    link *l = record;
    l->next = NULL;
    if (spare[kind].last)
        spare[kind].last->next = l;
    else
        spare[kind].first = l;
    spare[kind].last = l;
    spare[kind].count++;
}

static size_t record_size(handle_kind kind)
{
    return (sizes[kind] + 15) & ~(size_t)15;
}

static bool grow(handle_kind kind)
{
    uint8_t *table = calloc(1, 16 + record_size(kind) * PER_TABLE);
    if (!table)
        return false;
    memcpy(table, &tables[kind], sizeof(void *));
    tables[kind] = table;
    for (size_t k = 0; k < PER_TABLE; k++) {
        void *record = table + 16 + k * record_size(kind);
        __atomic_store_n((uint64_t *)record, poison, __ATOMIC_RELAXED);
        push(kind, record);
    }
    return true;
}

void *handle_new(handle_kind kind)
{
    pthread_mutex_lock(&lock);
    link *l = NULL;
    if (spare[kind].count > KEEP_FREE || grow(kind) || spare[kind].count) {
        l = spare[kind].first;
        spare[kind].first = l->next;
        if (!l->next)
            spare[kind].last = NULL;
        spare[kind].count--;
    }
    pthread_mutex_unlock(&lock);
    if (!l)
        return NULL;
    memset((uint8_t *)l + 8, 0, sizes[kind] - 8);
    __atomic_store_n(&l->magic, magics[kind], __ATOMIC_RELEASE);
    return l;
}

void handle_free(handle_kind kind, void *handle)
{
    __atomic_store_n((uint64_t *)handle, poison, __ATOMIC_RELEASE);
    pthread_mutex_lock(&lock);
    push(kind, handle);
    pthread_mutex_unlock(&lock);
}

bool handle_is(handle_kind kind, const void *handle)
{
    return handle && ((uintptr_t)handle & 7) == 0 &&
           __atomic_load_n((const uint64_t *)handle, __ATOMIC_ACQUIRE) == magics[kind];
}
