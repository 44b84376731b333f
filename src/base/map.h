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
// NULL when absent. The pointer is good until the next insertion.
uint64_t *map_find(const map *m, uint64_t key);
// Finds or inserts with value 0.
uint64_t *map_at(map *m, uint64_t key);
#define map_key(pointer) ((uint64_t)(uintptr_t)(pointer))

#endif
