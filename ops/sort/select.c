// Top-k of long rows: a block finds the first `wanted` keys of a tile and sorts them. The tile stays in registers: eight bits at
// a time, from the highest down, the threads count the digits of the keys that may still be the last one wanted. Then all below
// it are taken, and of equal ones the first. The results of the tiles are one row for the next launch; LAST writes the
// results of the only tile.
#include "tile.h"

enum { MOST = 1024 }; // wanted

struct selection {
    u32 tiles, wanted;
    u64 next; // keys of a row of the next launch
};

// How many threads' flags of item 0 … are set before this one, in the order of the tile (item, thread); counts: ITEMS * WARPS.
static inline void rank_flags(u32 rank[ITEMS], const bool flag[ITEMS], u32 *counts)
{
    barrier();
    EACH(i, ITEMS) {
        u32 set = warp_ballot(flag[i]);
        rank[i] = popcount(set & ((1u << lane()) - 1));
        if (lane() == 0)
            counts[i * WARPS + warp()] = popcount(set);
    }
    barrier();
    u32 mine = thread_x() < ITEMS * WARPS ? counts[thread_x()] : 0, before = block_scan_sum_before(mine);
    if (thread_x() < ITEMS * WARPS)
        counts[thread_x()] = before;
    barrier();
    EACH(i, ITEMS)
        rank[i] += counts[i * WARPS + warp()];
}

kernel block(THREADS) max_registers(128) void sort_select(const T *restrict x, const KEY *restrict keys, const u32 *restrict places,
                                       KEY *restrict to_keys, u32 *restrict to_places, T *restrict out, INDEX *restrict index,
                                       struct nest n, struct row r, struct selection s)
{
    shared u32 counts[DIGITS], chosen, still;
    shared wide found[MOST];
    shared u32 found_places[MOST];
    u64 row = block_x() / s.tiles;
    u32 tile = block_x() % s.tiles;
    u64 there = min((u64)TILE, r.count - (u64)tile * TILE);
    u32 wanted = (u32)min((u64)s.wanted, there), left = wanted;
    wide key[ITEMS], last = 0;
    struct results at_row = find_row(&n, row);
    EACH(i, ITEMS) {
        u64 at = (u64)tile * TILE + i * THREADS + thread_x();
        key[i] = ALL;
        if (at < r.count)
#ifdef FIRST
            key[i] = key_of(x[at_row.x + (i64)at * r.x_step]);
#else
            key[i] = (wide)keys[row * r.count + at];
#endif
    }
    for (u32 shift = KEY_BITS; shift > 0;) {
        shift -= 8;
        counts[thread_x()] = 0;
        barrier();
        EACH(i, ITEMS)
            if ((key[i] >> shift) >> 8 == (last >> shift) >> 8)
                atomic_add(&counts[digit_of(key[i], shift)], 1u);
        barrier();
        u32 mine = counts[thread_x()], before = block_scan_sum_before(mine);
        if (before < left && left <= before + mine) {
            chosen = thread_x();
            still = left - before;
        }
        barrier();
        last |= (wide)chosen << shift;
        left = still;
    }
    bool flag[ITEMS];
    u32 rank[ITEMS];
    EACH(i, ITEMS)
        flag[i] = key[i] == last;
    rank_flags(rank, flag, counts);
    EACH(i, ITEMS)
        flag[i] = key[i] < last || (flag[i] && rank[i] < left);
    rank_flags(rank, flag, counts);
    u32 length = 1;
    while (length < wanted)
        length *= 2;
    for (u32 i = wanted + thread_x(); i < length; i += THREADS) {
        found[i] = ALL;
        found_places[i] = 0xffffffffu;
    }
    EACH(i, ITEMS)
        if (flag[i]) {
            u64 at = (u64)tile * TILE + i * THREADS + thread_x();
            found[rank[i]] = key[i];
#ifdef FIRST
            found_places[rank[i]] = (u32)at;
#else
            found_places[rank[i]] = places[row * r.count + at];
#endif
        }
    sort_shared(found, found_places, length, length, THREADS);
    for (u32 i = thread_x(); i < wanted; i += THREADS) {
#ifdef LAST
        store(&at_row, &r, i, found[i], found_places[i], out, index, (const VALUE *)places, (VALUE *)to_places);
#else
        to_keys[row * s.next + (u64)tile * s.wanted + i] = (KEY)found[i];
        to_places[row * s.next + (u64)tile * s.wanted + i] = found_places[i];
#endif
    }
}
