// Arenas: a list of chunks, newest first. With KILN_HOSTILE, under the sanitizers, every allocation
// is its own chunk, so that a use after a restore or past the end is caught, and freed memory is
// poisoned; KILN_ARENA=plain takes chunks as a release has them.
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

enum { CHUNK_BYTES = 512 * 1024, HOSTILE_BYTES = 16 };

#ifdef KILN_HOSTILE
static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool is_plain;

static void ask(void)
{
    const char *kind = getenv("KILN_ARENA");
    is_plain = kind && !strcmp(kind, "plain");
}

static bool is_hostile(void)
{
    pthread_once(&asked, ask);
    return !is_plain;
}
#else
static bool is_hostile(void)
{
    return false;
}
#endif

// Chunks go round: a compile takes a few milliseconds at most, and fresh pages from the system
// would be a large part of it. The last one given back is taken first, it is still in the cache.
static const size_t spare_limit = 32 << 20; // bytes
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static chunk *spares;
static size_t spare_bytes;

static chunk *take_spare(size_t cap)
{
    pthread_mutex_lock(&spare_lock);
    chunk **link = &spares, *c;
    // A large one is not spent on a small need.
    while ((c = *link) && (c->cap < cap || c->cap > 2 * cap))
        link = &c->older;
    if (c) {
        *link = c->older;
        spare_bytes -= c->cap;
    }
    pthread_mutex_unlock(&spare_lock);
    return c;
}

static chunk *get_chunk(size_t cap)
{
    chunk *c = is_hostile() ? NULL : take_spare(cap);
    if (c)
        return c;
    c = malloc(sizeof(chunk) + cap);
    if (c)
        c->cap = cap;
    return c;
}

static void give_chunk(chunk *c)
{
    if (is_hostile()) {
        memset(c->bytes, 0xdd, c->cap);
        free(c);
        return;
    }
    pthread_mutex_lock(&spare_lock);
    bool keep = spare_bytes + c->cap <= spare_limit;
    if (keep) {
        c->older = spares;
        spares = c;
        spare_bytes += c->cap;
    }
    pthread_mutex_unlock(&spare_lock);
    if (!keep)
        free(c);
}

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
static void *get_room(arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        bug_out_of_memory();
    size_t want = rounded(bytes);
    if (a->limit && a->total + want > a->limit)
        bug_out_of_memory();
    chunk *c = a->newest;
    if (!c || c->cap - c->used < want) {
        size_t least = is_hostile() ? HOSTILE_BYTES : CHUNK_BYTES,
               cap = want > least ? want : least;
        // A mark may hold (chunk, used), so a chunk is never inserted below the newest.
        c = get_chunk(cap);
        if (!c)
            bug_out_of_memory();
        c->older = a->newest;
        c->used = 0;
        a->newest = c;
    }
    void *result = c->bytes + c->used;
    c->used += want;
    a->total += want;
    return result;
}

void *arena_alloc(arena *a, size_t bytes)
{
    return memset(get_room(a, bytes), 0, rounded(bytes));
}

// Clears the end of a room, up to the rounded size: all that may lie behind the bytes asked for.
static void clear_end(char *room, size_t bytes)
{
    memset(room + rounded(bytes) - 16, 0, 16);
}

void *arena_room(arena *a, size_t bytes)
{
    char *room = get_room(a, bytes);
    clear_end(room, bytes);
    return room;
}

// The part behind the old bytes is as it comes, but for the last 15 bytes of its room.
void *arena_extend(arena *a, void *old, size_t old_bytes, size_t new_bytes)
{
    chunk *c = a->newest;
    size_t old_room = (old_bytes + 15) & ~(size_t)15;
    if (old && c && new_bytes > old_bytes && (char *)old + old_room == c->bytes + c->used &&
        !is_hostile()) {
        size_t more = ((new_bytes + 15) & ~(size_t)15) - old_room;
        if (c->cap - c->used >= more && (!a->limit || a->total + more <= a->limit)) {
            c->used += more;
            a->total += more;
            if (more) // else it is clear already
                clear_end(old, new_bytes);
            return old;
        }
    }
    char *fresh = get_room(a, new_bytes);
    size_t kept = !old ? 0 : old_bytes < new_bytes ? old_bytes : new_bytes;
    clear_end(fresh, new_bytes);
    if (kept)
        memcpy(fresh, old, kept);
    return fresh;
}

void *arena_grow(arena *a, void *old, size_t old_bytes, size_t new_bytes)
{
    char *grown = arena_extend(a, old, old_bytes, new_bytes);
    size_t kept = old ? old_bytes : 0;
    if (kept < new_bytes)
        memset(grown + kept, 0, new_bytes - kept);
    return grown;
}

void *arena_copy(arena *a, const void *bytes, size_t len)
{
    char *copy = get_room(a, len);
    clear_end(copy, len);
    if (len)
        memcpy(copy, bytes, len);
    return copy;
}

arena_mark arena_save(arena *a)
{
    return (arena_mark){a->newest, a->newest ? a->newest->used : 0, a->total};
}

void arena_restore(arena *a, arena_mark mark)
{
    while (a->newest && a->newest != mark.chunk)
        drop_newest(a);
    if (a->newest)
        a->newest->used = mark.used;
    a->total = mark.total;
}

size_t arena_used(const arena *a)
{
    return a->total;
}

void arena_limit(arena *a, size_t bytes)
{
    a->limit = bytes;
}
