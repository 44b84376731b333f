// Which entries belong to which row: entries sorted by their row, those of the same row in their own
// order. A stable radix sort, eight bits at a time: for each pass histogram, offsets, reorder.
//
// An entry is an element of the index tensor (or AXES of them); its key is the number of its row, or
// `rows` where it has none: its index is out of range, or ignored.
#include <kiln/kernel.h>

#ifndef INDEX
#    define INDEX i32
#endif
tune(LOOPS, 1, 2, 3, 4, 5, 6, 7, 8);
tune(AXES, 1, 2, 3, 4, 5, 6, 7, 8);
enum { THREADS = 256, WARPS = THREADS / 32, ROUNDS = 8, TILE = THREADS * ROUNDS, DIGITS = 256 };

struct entries {
    u32 count, rows;
    u32 sizes[8]; // of the loops, outermost first
    i64 index[8]; // strides of the index tensor
    u32 key[8];   // what a step of the loop adds to the key
    i64 axis_sizes[8];
    u32 axis_key[8];
    i64 step;    // from one index of an entry to the next
    i64 ignored; // this index has no row; where has_ignored is set
    u32 has_ignored;
};

kernel block(THREADS) void scatter_keys(const INDEX *restrict index, u32 *restrict keys, u32 *restrict entries,
                                        struct entries n)
{
    u32 entry = global_x(), rest = entry, key = 0;
    if (entry >= n.count)
        return;
    i64 at = 0;
#pragma unroll
    for (i32 d = (i32)LOOPS - 1; d >= 0; d--) {
        u32 outer = d ? rest / n.sizes[d] : 0, i = rest - outer * n.sizes[d];
        at += (i64)i * n.index[d];
        key += i * n.key[d];
        rest = outer;
    }
    bool is_inside = true;
#pragma unroll
    for (u32 a = 0; a < AXES; a++) {
        i64 i = (i64)index[at + (i64)a * n.step];
        is_inside = is_inside && !(n.has_ignored != 0 && i == n.ignored);
        i = i < 0 ? i + n.axis_sizes[a] : i;
        is_inside = is_inside && i >= 0 && i < n.axis_sizes[a];
        key += (u32)i * n.axis_key[a];
    }
    keys[entry] = is_inside ? key : n.rows;
    entries[entry] = entry;
}

// How often each digit is in each tile: counts[digit * tiles + tile].
kernel block(THREADS) void scatter_histogram(const u32 *restrict keys, u32 *restrict counts, u32 count, u32 shift)
{
    shared u32 found[DIGITS];
    found[thread_x()] = 0;
    barrier();
    for (u32 r = 0; r < ROUNDS; r++) {
        u32 at = block_x() * TILE + r * THREADS + thread_x();
        if (at < count)
            atomic_add(&found[keys[at] >> shift & (DIGITS - 1)], 1);
    }
    barrier();
    counts[thread_x() * grid_dim_x() + block_x()] = found[thread_x()];
}

// Sums of all counts before each one; one block.
kernel block(1024) void scatter_offsets(u32 *restrict counts, u32 count)
{
    enum { MANY = 8 };
    u32 before = 0;
    for (u32 first = 0; first < count; first += 1024 * MANY) {
        u32 all[MANY], sum = 0, at = first + thread_x() * MANY;
#pragma unroll
        for (u32 i = 0; i < MANY; i++) {
            all[i] = at + i < count ? counts[at + i] : 0;
            sum += all[i];
        }
        u32 mine = before + block_scan_sum_before(sum);
        before += block_sum(sum);
#pragma unroll
        for (u32 i = 0; i < MANY; i++) {
            if (at + i < count)
                counts[at + i] = mine;
            mine += all[i];
        }
    }
}

// Each warp has ROUNDS * 32 neighbouring keys of the tile, and takes them in order.
kernel block(THREADS) void scatter_reorder(const u32 *restrict keys, const u32 *restrict entries,
                                           const u32 *restrict offsets, u32 *restrict keys_to, u32 *restrict entries_to,
                                           u32 count, u32 shift)
{
    shared u32 next[WARPS][DIGITS]; // where the warp's next key with that digit goes
    u32 first = block_x() * TILE + warp() * (ROUNDS * 32) + lane(), key[ROUNDS], same[ROUNDS];
#pragma unroll
    for (u32 w = 0; w < WARPS; w++)
        next[w][thread_x()] = 0;
    barrier();
#pragma unroll
    for (u32 r = 0; r < ROUNDS; r++) {
        u32 at = first + r * 32;
        key[r] = at < count ? keys[at] : 0;
        u32 digit = at < count ? key[r] >> shift & (DIGITS - 1) : DIGITS;
        same[r] = warp_match(digit);
        if (at < count && trailing_zeros(same[r]) == lane())
            next[warp()][digit] += popcount(same[r]);
        warp_sync();
    }
    barrier();
    u32 to = offsets[thread_x() * grid_dim_x() + block_x()];
#pragma unroll
    for (u32 w = 0; w < WARPS; w++) {
        u32 mine = next[w][thread_x()];
        next[w][thread_x()] = to;
        to += mine;
    }
    barrier();
#pragma unroll
    for (u32 r = 0; r < ROUNDS; r++) {
        u32 at = first + r * 32, digit = key[r] >> shift & (DIGITS - 1);
        u32 place = at < count ? next[warp()][digit] + popcount(same[r] & (((u32)1 << lane()) - 1)) : 0;
        if (at < count) {
            keys_to[place] = key[r];
            entries_to[place] = entries[at];
        }
        warp_sync();
        if (at < count && trailing_zeros(same[r]) == lane())
            next[warp()][digit] += popcount(same[r]);
        warp_sync();
    }
}

// Where the entries of each row start among the sorted ones.
kernel block(THREADS) void scatter_starts(const u32 *restrict keys, u32 *restrict starts, u32 count, u32 rows)
{
    u32 row = global_x(), low = 0, high = count;
    if (row > rows) // there is one more start than rows
        return;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (keys[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    starts[row] = low;
}
