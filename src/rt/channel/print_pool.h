// Threads that turn records of printf into text: batches are formatted side by side and printed in
// the order in which they were given.
#ifndef KILN_CHANNEL_PRINT_POOL_H
#define KILN_CHANNEL_PRINT_POOL_H

#include "rt/rt.h"

enum { PRINT_POOL_BATCH = 1 << 17 }; // bytes of records at most

typedef struct print_pool print_pool;
print_pool *print_pool_new(uint32_t threads); // NULL: no memory or no threads
void print_pool_free(print_pool *t);          // what was given is printed
// Copies the records. From one thread at a time; waits while many batches are on their way.
void print_pool_give(print_pool *t, kiln_module *m, const uint8_t *lines, size_t len);
void print_pool_wait(print_pool *t); // everything that was given is printed

#endif
