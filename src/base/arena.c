// Arenas: a list of chunks, newest first. In the hostile flavour every allocation is its own chunk,
// so that a use after a restore or past the end is caught by the sanitizers, and freed memory is
// poisoned.
#include "base/arena.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/bug.h"

typedef struct chunk {
    struct chunk *older;
    size_t used, cap;
    _Alignas(16) char bytes[];
} chunk;

struct arena {
    chunk *newest;
    size_t total, limit;
};

#ifdef KILN_HOSTILE
enum { CHUNK_BYTES = 16 };
#else
enum { CHUNK_BYTES = 256 * 1024 };
#endif

// Chunks of the usual size go round: a compile takes a few milliseconds at most, and fresh pages
// from the system would be a large part of it.
#ifndef KILN_HOSTILE
enum { SPARE_LIMIT = 32 };
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static chunk *spares;
static int spare_count;

static chunk *take_chunk(size_t cap)
{
    chunk *c = NULL;
    if (cap == CHUNK_BYTES) {
        pthread_mutex_lock(&spare_lock);
        c = spares;
        if (c) {
            spares = c->older;
            spare_count--;
        }
        pthread_mutex_unlock(&spare_lock);
    }
    return c ? c : malloc(sizeof(chunk) + cap);
}

static void give_chunk(chunk *c)
{
    if (c->cap == CHUNK_BYTES) {
        pthread_mutex_lock(&spare_lock);
        bool keep = spare_count < SPARE_LIMIT;
        if (keep) {
            c->older = spares;
            spares = c;
            spare_count++;
        }
        pthread_mutex_unlock(&spare_lock);
        if (keep)
            return;
    }
    free(c);
}
#else
static chunk *take_chunk(size_t cap)
{
    return malloc(sizeof(chunk) + cap);
}

static void give_chunk(chunk *c)
{
    memset(c->bytes, 0xdd, c->cap);
    free(c);
}
#endif

arena *arena_new(void)
{
    return calloc(1, sizeof(arena));
}

static void drop_newest(arena *a)
{
    chunk *c = a->newest;
    a->newest = c->older;
    give_chunk(c);
}

void arena_free(arena *a)
{
    if (!a)
        return;
    while (a->newest)
        drop_newest(a);
    free(a);
}

static size_t rounded(size_t bytes)
{
    return bytes ? (bytes + 15) & ~(size_t)15 : 16;
}

// Room that is not zeroed yet. Callers zero up to the rounded size: growing in place counts on it.
static void *take(arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        bug_out_of_memory();
    size_t want = rounded(bytes);
    if (a->limit && a->total + want > a->limit)
        bug_out_of_memory();
    chunk *c = a->newest;
    if (!c || c->cap - c->used < want) {
        size_t cap = want > CHUNK_BYTES ? want : CHUNK_BYTES;
        // A mark may hold (chunk, used), so a chunk is never inserted below the newest.
        c = take_chunk(cap);
        if (!c)
            bug_out_of_memory();
        c->older = a->newest;
        c->used = 0;
        c->cap = cap;
        a->newest = c;
    }
    void *result = c->bytes + c->used;
    c->used += want;
    a->total += want;
    return result;
}

void *arena_alloc(arena *a, size_t bytes)
{
    return memset(take(a, bytes), 0, rounded(bytes));
}

void *arena_grow(arena *a, void *old, size_t old_bytes, size_t new_bytes)
{
    chunk *c = a->newest;
    size_t old_room = (old_bytes + 15) & ~(size_t)15;
#ifndef KILN_HOSTILE
    if (old && c && new_bytes > old_bytes && (char *)old + old_room == c->bytes + c->used) {
        size_t more = ((new_bytes + 15) & ~(size_t)15) - old_room;
        if (c->cap - c->used >= more && (!a->limit || a->total + more <= a->limit)) {
            memset((char *)old + old_room, 0, more);
            c->used += more;
            a->total += more;
            return old;
        }
    }
#else
    (void)c;
    (void)old_room;
#endif
    char *fresh = take(a, new_bytes);
    size_t kept = !old ? 0 : old_bytes < new_bytes ? old_bytes : new_bytes;
    if (kept)
        memcpy(fresh, old, kept);
    memset(fresh + kept, 0, rounded(new_bytes) - kept);
    return fresh;
}

void *arena_copy(arena *a, const void *bytes, size_t len)
{
    char *copy = take(a, len);
    if (len)
        memcpy(copy, bytes, len);
    memset(copy + len, 0, rounded(len) - len);
    return copy;
}

arena_mark arena_save(arena *a)
{
    return (arena_mark){a->newest, a->newest ? a->newest->used : 0};
}

void arena_restore(arena *a, arena_mark mark)
{
    while (a->newest && a->newest != mark.chunk)
        drop_newest(a);
    if (a->newest)
        a->newest->used = mark.used;
    a->total = 0;
    for (chunk *c = a->newest; c; c = c->older)
        a->total += c->used;
}

size_t arena_used(const arena *a)
{
    return a->total;
}

void arena_limit(arena *a, size_t bytes)
{
    a->limit = bytes;
}
