// Third launch of a pass: every key goes to its place by the digit. Keys of a warp with the same digit find one another;
// their ranks follow the order of the tile, so that the sort is stable. The tile is sorted in shared memory first: runs of a
// digit are written together.
#include "tile.h"

tune(BALLOTS, 1, 0); // keys find one another by a vote for each bit of the digit, else by warp_match

// The lanes with this lane's digit. Whole sorts on an H200 leave a multiprocessor about 70 cycles for a match of 32 random
// digits; eight votes are 31 instructions. Where lanes are no hardware's, a match is the shorter one.
static inline u32 lanes_with(u32 digit)
{
    if (!BALLOTS || target_is_cpu() || target_is_opencl())
        return warp_match(digit);
    u32 same = ~0u;
    EACH(b, 8) {
        bool is_set = (digit & 1u << b) != 0;
        u32 set = warp_ballot(is_set);
        same &= is_set ? set : ~set;
    }
    return same;
}

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
    u32 total = totals[row * DIGITS + digit], tiles_before = counts[(row * DIGITS + digit) * p.tiles + tile];
    barrier();
    // All lanes with the same digit, and those of them before this one; then the items of the warp in their order.
    EACH(i, ITEMS) {
        u32 same = lanes_with(digit_of(key[i], p.shift));
        rank[i] = popcount(same) << 8 | popcount(same & ((1u << lane()) - 1));
    }
    EACH(i, ITEMS) {
        u32 d = digit_of(key[i], p.shift), lower = rank[i] & 255u, before = of_warp[warp()][d];
        warp_sync();
        if (lower == 0)
            of_warp[warp()][d] = before + (rank[i] >> 8);
        warp_sync();
        rank[i] = before + lower;
    }
    barrier();
    // A thread for each digit: the warps before, the digits before, the tiles and rows before.
    u32 sum = 0;
    EACH(w, WARPS) {
        u32 count = of_warp[w][digit];
        of_warp[w][digit] = sum;
        sum += count;
    }
    u32 local = block_scan_sum_before(sum), global = block_scan_sum_before(total);
    start[digit] = local;
    shift_to[digit] = global + tiles_before - local;
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
    enum { TOGETHER = 4 }; // reads before the first write
    for (u32 from = thread_x(); from < there; from += TOGETHER * THREADS) {
        wide mine[TOGETHER];
        u32 to[TOGETHER], place[TOGETHER];
        EACH(k, TOGETHER) {
            mine[k] = (wide)sorted[from + k * THREADS];
            to[k] = shift_to[digit_of(mine[k], p.shift)] + from + k * THREADS;
            place[k] = 0;
#if defined TO_INDEX || defined TO_VALUE
            place[k] = sorted_places[from + k * THREADS];
#endif
        }
        EACH(k, TOGETHER)
            if (from + k * THREADS < there) {
#ifdef LAST
                store(&results, &r, to[k], mine[k], place[k], out, index, value, to_value);
#else
                to_keys[row * r.count + to[k]] = (KEY)mine[k];
#    if defined TO_INDEX || defined TO_VALUE
                to_places[row * r.count + to[k]] = place[k];
#    endif
#endif
            }
    }
}
