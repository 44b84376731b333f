// Strings of bytes that are kept once and have numbers from 0 on.
#ifndef KILN_TESTS_MODEL_STORE_H
#define KILN_TESTS_MODEL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct store {
    unsigned char *bytes;
    size_t used, cap;
    uint64_t *start; // [count + 1]
    uint32_t *table; // number + 1; 0: empty
    uint32_t count, start_cap, table_cap;
} store;

uint32_t store_put(store *s, const void *bytes, size_t size, bool *is_new);
// Aligned to 8; until the next store_put.
const unsigned char *store_get(const store *s, uint32_t number, size_t *size);
void store_free(store *s);

// The same for two numbers of 32 bits, which take less room.
typedef struct pairs {
    uint64_t *of;
    uint32_t *table; // number + 1
    uint32_t count, cap, table_cap;
} pairs;
uint32_t pairs_put(pairs *p, uint64_t pair);
void pairs_free(pairs *p);

#endif
