// Third launch of a pass: every key goes to its place by the digit. Keys of a warp with the same digit find one another
// (warp_match); their ranks follow the order of the tile, so that the sort is stable. The tile is sorted in shared memory
// first: runs of a digit are written together.
#include "tile.h"

kernel block(THREADS) max_registers(target_sm() >= 100 ? 128 : 80) void sort_scatter(const T *restrict x, const KEY *restrict keys, const u32 *restrict places,
                                        const u32 *restrict counts, const u32 *restrict totals, KEY *restrict to_keys,
                                        u32 *restrict to_places, T *restrict out, INDEX *restrict index, const VALUE *restrict value,
                                        VALUE *restrict to_value, struct nest n, struct row r, struct pass p)
{
    shared u32 of_warp[WARPS][DIGITS], start[DIGITS], shift_to[DIGITS];
    shared KEY sorted[TILE];
#if defined TO_INDEX || defined TO_VALUE
    shared u32 sorted_places[TILE];
#endif
    u32 block = grid_dim_x() - 1 - block_x(); // the tiles that count.c has read last may still be in the cache
    u64 row = block / p.tiles;
    u32 tile = block % p.tiles, digit = thread_x();
    u64 first = first_element(tile);
    u32 reach = reach_of(first, r.count);
    wide key[ITEMS];
    u32 rank[ITEMS];
    EACH(w, WARPS)
        of_warp[w][digit] = 0;
    load_keys(key, x, keys, &n, &r, row, first, reach);
    barrier();
    EACH(i, ITEMS) {
        u32 d = digit_of(key[i], p.shift), same = warp_match(d);
        u32 lower = popcount(same & ((1u << lane()) - 1)), before = of_warp[warp()][d];
        rank[i] = before + lower;
        warp_sync();
        if (lower == 0)
            of_warp[warp()][d] = before + popcount(same);
        warp_sync();
    }
    barrier();
    // A thread for each digit: the warps before, the digits before, the tiles and rows before.
    u32 sum = 0;
    EACH(w, WARPS) {
        u32 count = of_warp[w][digit];
        of_warp[w][digit] = sum;
        sum += count;
    }
    u32 local = block_scan_sum_before(sum), global = block_scan_sum_before(totals[row * DIGITS + digit]);
    start[digit] = local;
    shift_to[digit] = global + counts[(row * DIGITS + digit) * p.tiles + tile] - local;
    barrier();
#if !defined FIRST && (defined TO_INDEX || defined TO_VALUE)
    const u32 *from = places + row * r.count + first;
#endif
    EACH(i, ITEMS) {
        u32 d = digit_of(key[i], p.shift), to = start[d] + of_warp[warp()][d] + rank[i];
        sorted[to] = (KEY)key[i];
#if defined TO_INDEX || defined TO_VALUE
#    ifdef FIRST
        sorted_places[to] = (u32)first + i * 32;
#    else
        sorted_places[to] = i * 32 < reach ? from[i * 32] : 0;
#    endif
#endif
    }
    barrier();
#ifdef LAST
    struct results results = find_row(&n, row);
#endif
    u64 there = min((u64)TILE, r.count - (u64)tile * TILE); // the others come last
    for (u32 at = thread_x(); at < there; at += THREADS) {
        wide mine = (wide)sorted[at];
        u32 to = shift_to[digit_of(mine, p.shift)] + at, place = 0;
#if defined TO_INDEX || defined TO_VALUE
        place = sorted_places[at];
#endif
#ifdef LAST
        store(&results, &r, to, mine, place, out, index, value, to_value);
#else
        to_keys[row * r.count + to] = (KEY)mine;
#    if defined TO_INDEX || defined TO_VALUE
        to_places[row * r.count + to] = place;
#    endif
#endif
    }
}
