// Sorts short rows in shared memory: LENGTH is the next power of two of a row's length. Short ones share a block.
#include "key.h"

tune(LENGTH, 1024, 2, 4, 8, 16, 32, 64, 128, 256, 512, 2048, 4096);
enum { THREADS = LENGTH > 512 ? 512 : 256, TOGETHER = LENGTH > 512 ? 1 : 512 / LENGTH, PLACES = TOGETHER * LENGTH };

kernel block(THREADS) void sort_short(const T *restrict x, T *restrict out, INDEX *restrict index, const VALUE *restrict value,
                                      VALUE *restrict to_value, struct nest n, struct row r)
{
    shared wide keys[PLACES];
    shared u32 places[PLACES];
    u64 first = (u64)block_x() * TOGETHER;
    for (u32 i = thread_x(); i < PLACES; i += THREADS) {
        u32 at = i % LENGTH;
        u64 row = first + i / LENGTH;
        bool is_there = row < n.packs && at < r.count;
        struct results from = find_row(&n, is_there ? row : 0);
        keys[i] = is_there ? key_of(x[from.x + (i64)at * r.x_step]) : ALL;
        places[i] = at; // those that are not there come last
    }
    sort_shared(keys, places, LENGTH, PLACES, THREADS);
    for (u32 i = thread_x(); i < PLACES; i += THREADS) {
        u64 row = first + i / LENGTH;
        if (row < n.packs) {
            struct results to = find_row(&n, row);
            store(&to, &r, i % LENGTH, keys[i], places[i], out, index, value, to_value);
        }
    }
}
