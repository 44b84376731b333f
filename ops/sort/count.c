// First launch of a pass of the radix sort: how many keys of each tile have each digit, into counts[row][digit][tile].
#include "tile.h"

kernel block(THREADS) max_registers(64) void sort_count(const T *restrict x, const KEY *restrict keys, u32 *restrict counts, struct nest n, struct row r,
                                      struct pass p)
{
    shared u32 of_warp[WARPS][DIGITS];
    u64 row = block_x() / p.tiles;
    u32 tile = block_x() % p.tiles;
    u64 first = first_element(tile);
    u32 reach = reach_of(first, r.count);
    wide key[ITEMS];
    EACH(w, WARPS)
        of_warp[w][thread_x()] = 0;
    load_keys(key, x, keys, &n, &r, row, first, reach);
    barrier();
    EACH(i, ITEMS)
        if (i * 32 < reach)
            atomic_add(&of_warp[warp()][digit_of(key[i], p.shift)], 1u);
    barrier();
    u32 sum = 0;
    EACH(w, WARPS)
        sum += of_warp[w][thread_x()];
    counts[(row * DIGITS + thread_x()) * p.tiles + tile] = sum;
}
