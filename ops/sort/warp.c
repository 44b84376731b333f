// Sorts short rows in registers: LENGTH is the next power of two of a row's length. A row has a warp, above 1024 elements
// the warps of a block. A lane has PER neighbouring places of the sorted row. Bitonic merges of two sorted runs: the first
// step compares a run with the other one reversed, so that the smaller goes to the lower place in all steps.
//
// A word is a key and, below it, its place: no two words are equal, and the sort is stable. Where nobody asks for
// places, it is the key alone.
#include "key.h"

tune(LENGTH, 1024, 64, 128, 256, 512, 2048, 4096);
enum {
    WARPS = LENGTH > 1024 ? LENGTH / 1024 : 1, // of a row
    PER = LENGTH / (32 * WARPS),
    TOGETHER = WARPS > 1 ? 1 : 2, // rows of a block
    THREADS = 32 * WARPS * TOGETHER,
    PADDED = LENGTH + LENGTH / 32,
};

#if defined TO_INDEX || defined TO_VALUE
enum { PLACE_BITS = sizeof(KEY) < 4 ? 16 : 32 };
#    define WORD_u8  u32
#    define WORD_u16 u32
#    define WORD_u32 u64
typedef PACK_JOIN(WORD_, KEY) word;
#    define WORD_OF(key, place) ((word)(key) << PLACE_BITS | (place))
#    define KEY_OF(w)           ((wide)((w) >> PLACE_BITS))
#    define PLACE_OF(w)         ((u32)(w) & (u32)(((u64)1 << PLACE_BITS) - 1))
#else
typedef wide word;
#    define WORD_OF(key, place) (key)
#    define KEY_OF(w)           (w)
#    define PLACE_OF(w)         0u
#endif

static inline void exchange(word *low, word *high)
{
    word a = *low, b = *high;
    bool is_after = a > b; // one comparison for both, where it takes two instructions
    *low = sizeof(word) == 4 ? min(a, b) : is_after ? b : a;
    *high = sizeof(word) == 4 ? max(a, b) : is_after ? a : b;
}

// Steps within a lane: `size` 2 … PER, from runs of half of it to runs of it.
static inline void merge_lane(word w[PER], const u32 size, const bool is_reversed)
{
    EACH(step, 5) {
        const u32 stride = size >> (step + 1);
        if (stride > 0)
            EACH(i, PER)
                if ((i & stride) == 0)
                    exchange(&w[i], &w[step == 0 && is_reversed ? i ^ (size - 1) : i ^ stride]);
    }
}

// Keeps the smaller or the larger of its own and another lane's.
static inline word keep(word own, word other, bool is_low)
{
    if (sizeof(word) == 4)
        return is_low ? min(own, other) : max(own, other);
    return (own < other) == is_low ? own : other;
}

// Steps between lanes at distances `from`, … 1, then within the lanes: sorts what is bitonic.
static inline void merge_warp(word w[PER], u32 from)
{
    for (u32 stride = from; stride > 0; stride /= 2) {
        bool is_low = (lane() & stride) == 0;
        EACH(i, PER)
            w[i] = keep(w[i], shuffle(w[i], lane() ^ stride), is_low);
    }
    merge_lane(w, PER, false);
}

static inline void sort_warp(word w[PER])
{
    EACH(level, 5)
        if (2u << level <= PER)
            merge_lane(w, 2u << level, true);
    for (u32 lanes = 2; lanes <= 32; lanes *= 2) {
        bool is_low = (lane() & (lanes / 2)) == 0;
        EACH(i, PER / 2) {
            word a = w[i], b = w[PER - 1 - i];
            word for_a = shuffle(b, lane() ^ (lanes - 1)), for_b = shuffle(a, lane() ^ (lanes - 1));
            w[i] = keep(a, for_a, is_low);
            w[PER - 1 - i] = keep(b, for_b, is_low);
        }
        merge_warp(w, lanes / 4);
    }
}

// Where place `at` of a row is in shared memory: one in 33 is empty, against bank conflicts.
static inline u32 padded(u32 at)
{
    return at + at / 32;
}

// This lane's words go to the row in shared memory.
static inline void put(word *sorted, u32 first, const word w[PER])
{
    EACH(i, PER)
        sorted[padded(first + i)] = w[i];
}

// A step between warps: places differ in the bits of `mask`.
static inline void exchange_warps(word *sorted, u32 first, word w[PER], u32 mask, bool is_low)
{
    barrier();
    put(sorted, first, w);
    barrier();
    EACH(i, PER)
        w[i] = keep(w[i], sorted[padded((first + i) ^ mask)], is_low);
}

kernel block(THREADS) void sort_warp_rows(const T *restrict x, T *restrict out, INDEX *restrict index, const VALUE *restrict value,
                                          VALUE *restrict to_value, struct nest n, struct row r)
{
    shared word all_sorted[TOGETHER][PADDED];
    u64 row = TOGETHER == 1 ? (u64)block_x() : (u64)block_x() * TOGETHER + warp();
    if (TOGETHER > 1 && row >= n.packs)
        return;
    word *sorted = all_sorted[TOGETHER == 1 ? 0 : warp()];
    u32 warp_of = TOGETHER == 1 ? warp() : 0, lane_of = warp_of * 32 + lane(), first = lane_of * PER;
    struct results of_row = find_row(&n, row);
    word w[PER];
    EACH(i, PER) {
        u32 place = i * (32 * WARPS) + lane_of;
        wide key = ALL; // those that are not there come last
        if (place < r.count)
            key = key_of(x[of_row.x + (i64)place * r.x_step]);
        w[i] = WORD_OF(key, place);
    }
    sort_warp(w);
    for (u32 warps = 2; WARPS > 1 && warps <= WARPS; warps *= 2) {
        exchange_warps(sorted, first, w, warps * (32 * PER) - 1, (warp_of & (warps / 2)) == 0);
        for (u32 stride = warps / 4; stride > 0; stride /= 2)
            exchange_warps(sorted, first, w, stride * (32 * PER), (warp_of & stride) == 0);
        merge_warp(w, 16);
    }
    if (WARPS > 1)
        barrier();
    put(sorted, first, w);
    if (WARPS > 1)
        barrier();
    else
        warp_sync();
    EACH(i, PER) {
        u32 at = i * (32 * WARPS) + lane_of;
        word mine = sorted[padded(at)];
        store(&of_row, &r, at, KEY_OF(mine), PLACE_OF(mine), out, index, value, to_value);
    }
}
