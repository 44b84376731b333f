// Hash map from 64-bit keys (or pointers) to 64-bit values, in an arena. Open addressing; a key
// may be any value. Iteration order is insertion order, so nothing depends on the hash.
#ifndef KILN_MAP_H
#define KILN_MAP_H

#include "base/arena.h"

typedef struct map_entry {
    uint64_t key, value;
} map_entry;

typedef struct map {
    arena *in;
    map_entry *entries; // in insertion order
    uint32_t len, cap;
    uint32_t *slots; // index + 1 into entries
    uint32_t slot_cap;
} map;

map map_make(arena *a);
static inline uint32_t map_slot(const map *m, uint64_t key)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (m->slot_cap - 1);
}
// NULL when absent. The pointer is good until the next insertion.
static inline uint64_t *map_find(const map *m, uint64_t key)
{
    if (!m->len)
        return NULL;
    for (uint32_t s = map_slot(m, key); m->slots[s]; s = (s + 1) & (m->slot_cap - 1)) {
        map_entry *e = &m->entries[m->slots[s] - 1];
        if (e->key == key)
            return &e->value;
    }
    return NULL;
}
// Finds or inserts with value 0.
uint64_t *map_at(map *m, uint64_t key);
#define map_key(pointer) ((uint64_t)(uintptr_t)(pointer))

#endif
