// The hash map: slots point into entries kept in insertion order.
#include "base/map.h"

map map_make(arena *a)
{
    return (map){.in = a};
}

static void place(map *m, uint32_t entry)
{
    uint32_t mask = m->slot_cap - 1, s = map_slot(m, m->entries[entry].key);
    while (m->slots[s])
        s = (s + 1) & mask;
    m->slots[s] = entry + 1;
}

uint64_t *map_at(map *m, uint64_t key)
{
    uint64_t *found = map_find(m, key);
    if (found)
        return found;
    if (m->len == m->cap) {
        uint32_t cap = m->cap ? m->cap * 2 : 8;
        m->entries =
            arena_grow(m->in, m->entries, m->cap * sizeof(map_entry), cap * sizeof(map_entry));
        m->cap = cap;
    }
    m->entries[m->len] = (map_entry){key, 0};
    m->len++;
    if (m->len * 2 > m->slot_cap) {
        m->slot_cap = m->slot_cap ? m->slot_cap * 2 : 16;
        m->slots = arena_array(m->in, uint32_t, m->slot_cap);
        for (uint32_t i = 0; i < m->len; i++)
            place(m, i);
    } else {
        place(m, m->len - 1);
    }
    return &m->entries[m->len - 1].value;
}
