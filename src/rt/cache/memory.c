// The newest records of this process, so that the same kernel compiled twice in one program is
// compiled once, with or without a disk. Bounded; what was not used for longest goes first. One
// lock, held only to find and copy.
#include <pthread.h>
#include <stdlib.h>

#include "rt/cache/disk.h"

enum { SLOTS = 128 };
static const size_t total_limit = (size_t)32 << 20, record_limit = (size_t)4 << 20;

typedef struct slot {
    uint8_t key[SHA256_BYTES];
    uint8_t *bytes; // a packed record; NULL: free
    size_t len;
    uint64_t used;
} slot;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static slot slots[SLOTS];
static size_t total;
static uint64_t clock_now;

static slot *find(const uint8_t key[SHA256_BYTES])
{
    for (size_t k = 0; k < SLOTS; k++)
        if (slots[k].bytes && !memcmp(slots[k].key, key, SHA256_BYTES))
            return &slots[k];
    return NULL;
}

static void drop(slot *s)
{
    if (!s)
        return;
    free(s->bytes);
    total -= s->len;
    *s = (slot){0};
}

// A free slot, after as much was dropped as `len` bytes more need.
static slot *make_room(size_t len)
{
    for (;;) {
        slot *oldest = NULL, *empty = NULL;
        for (size_t k = 0; k < SLOTS; k++) {
            if (!slots[k].bytes)
                empty = &slots[k];
            else if (!oldest || slots[k].used < oldest->used)
                oldest = &slots[k];
        }
        if (empty && total + len <= total_limit)
            return empty;
        drop(oldest);
    }
}

bool memory_get(const uint8_t key[SHA256_BYTES], record *out)
{
    *out = (record){0};
    pthread_mutex_lock(&lock);
    slot *s = find(key);
    if (s && (out->bytes = malloc(s->len + 1))) {
        memcpy(out->bytes, s->bytes, s->len);
        out->len = s->len;
        s->used = ++clock_now;
    }
    pthread_mutex_unlock(&lock);
    if (out->bytes && record_unpack(out))
        return true;
    record_free(out);
    return false;
}

void memory_put(const uint8_t key[SHA256_BYTES], const record *r)
{
    uint8_t *copy = r->len <= record_limit ? malloc(r->len + 1) : NULL;
    if (!copy)
        return;
    memcpy(copy, r->bytes, r->len);
    pthread_mutex_lock(&lock);
    drop(find(key));
    slot *s = make_room(r->len);
    memcpy(s->key, key, SHA256_BYTES);
    s->bytes = copy;
    s->len = r->len;
    s->used = ++clock_now;
    total += r->len;
    pthread_mutex_unlock(&lock);
}

void memory_forget(const uint8_t key[SHA256_BYTES])
{
    pthread_mutex_lock(&lock);
    drop(find(key));
    pthread_mutex_unlock(&lock);
}

void cache_drop_memory(void)
{
    pthread_mutex_lock(&lock);
    for (size_t k = 0; k < SLOTS; k++)
        if (slots[k].bytes)
            drop(&slots[k]);
    pthread_mutex_unlock(&lock);
}
