// A hash table over one growing array of bytes. A test program: without memory it ends.
#include "tests/model/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grown(void *old, size_t bytes)
{
    void *p = realloc(old, bytes);
    if (!p) {
        fputs("model: no memory left\n", stderr);
        exit(3);
    }
    return p;
}

static uint64_t hash_of(const unsigned char *bytes, size_t size)
{
    uint64_t h = size * UINT64_C(0x9e3779b97f4a7c15), word;
    for (; size >= 8; size -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, bytes, size);
    h = (h ^ word) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 29;
}

const unsigned char *store_get(const store *s, uint32_t number, size_t *size)
{
    uint64_t header;
    const unsigned char *at = s->bytes + s->start[number];
    memcpy(&header, at, 8);
    *size = (uint32_t)header;
    return at + 8;
}

static void widen(store *s)
{
    uint32_t cap = s->table_cap ? s->table_cap * 2 : 1024;
    free(s->table);
    s->table = grown(NULL, cap * sizeof *s->table);
    memset(s->table, 0, cap * sizeof *s->table);
    s->table_cap = cap;
    for (uint32_t n = 0; n < s->count; n++) {
        uint64_t header;
        memcpy(&header, s->bytes + s->start[n], 8);
        size_t size;
        const unsigned char *bytes = store_get(s, n, &size);
        uint32_t at = (uint32_t)hash_of(bytes, size) & (cap - 1);
        while (s->table[at])
            at = (at + 1) & (cap - 1);
        s->table[at] = n + 1;
    }
}

uint32_t store_put(store *s, const void *bytes, size_t size, bool *is_new)
{
    if (s->count * 2 >= s->table_cap)
        widen(s);
    uint64_t hash = hash_of(bytes, size);
    uint32_t at = (uint32_t)hash & (s->table_cap - 1);
    for (; s->table[at]; at = (at + 1) & (s->table_cap - 1)) {
        uint64_t header, expected = (hash & ~(uint64_t)UINT32_MAX) | (uint32_t)size;
        const unsigned char *kept = s->bytes + s->start[s->table[at] - 1];
        memcpy(&header, kept, 8);
        if (header == expected && memcmp(kept + 8, bytes, size) == 0) {
            if (is_new)
                *is_new = false;
            return s->table[at] - 1;
        }
    }
    size_t whole = 8 + ((size + 7) & ~(size_t)7);
    if (s->used + whole > s->cap) {
        s->cap = s->cap * 2 > s->used + whole ? s->cap * 2 : s->used + whole + 65536;
        s->bytes = grown(s->bytes, s->cap);
    }
    if (s->count >= s->start_cap) {
        s->start_cap = s->start_cap ? s->start_cap * 2 : 1024;
        s->start = grown(s->start, s->start_cap * sizeof *s->start);
    }
    uint64_t header = (hash & ~(uint64_t)UINT32_MAX) | (uint32_t)size;
    s->start[s->count] = s->used;
    memcpy(s->bytes + s->used, &header, 8);
    memcpy(s->bytes + s->used + 8, bytes, size);
    s->used += whole;
    s->table[at] = ++s->count;
    if (is_new)
        *is_new = true;
    return s->count - 1;
}

void store_free(store *s)
{
    free(s->bytes);
    free(s->start);
    free(s->table);
    memset(s, 0, sizeof *s);
}

// --- pairs
static uint32_t place_of(const pairs *p, uint64_t pair)
{
    uint64_t hash = (pair ^ pair >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t)(hash >> 32) & (p->table_cap - 1);
    while (p->table[at] && p->of[p->table[at] - 1] != pair)
        at = (at + 1) & (p->table_cap - 1);
    return at;
}

static void widen_pairs(pairs *p)
{
    free(p->table);
    p->table_cap = p->table_cap ? p->table_cap * 2 : 1024;
    p->table = grown(NULL, p->table_cap * sizeof *p->table);
    memset(p->table, 0, p->table_cap * sizeof *p->table);
    for (uint32_t n = 0; n < p->count; n++)
        p->table[place_of(p, p->of[n])] = n + 1;
}

uint32_t pairs_put(pairs *p, uint64_t pair)
{
    if (p->count >= p->table_cap / 4 * 3)
        widen_pairs(p);
    uint32_t at = place_of(p, pair);
    if (p->table[at])
        return p->table[at] - 1;
    if (p->count == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 1024;
        p->of = grown(p->of, p->cap * sizeof *p->of);
    }
    p->of[p->count] = pair;
    p->table[at] = ++p->count;
    return p->count - 1;
}

void pairs_free(pairs *p)
{
    free(p->of);
    free(p->table);
    memset(p, 0, sizeof *p);
}
