// Tiles of long rows, for the passes of the radix sort: 8 bits of the keys at a time, from the lowest up. A block has a tile;
// a warp has a piece of it, and lane l of it the elements l, l + 32 … of the piece.
#include "key.h"

enum {
    THREADS = 256,
    WARPS = THREADS / 32,
    ITEMS = sizeof(KEY) == 8 ? 8 : 16, // of a thread
    TILE = THREADS * ITEMS,
    DIGITS = 256
};

struct pass {
    u32 shift; // of the digit
    u32 tiles; // of a row
};

static inline u32 digit_of(wide key, u32 shift)
{
    return (u32)(key >> shift) & 255u;
}

// This thread's first element in its row; item i is 32 * i after it.
static inline u64 first_element(u32 tile)
{
    return (u64)tile * TILE + warp() * (32 * ITEMS) + lane();
}

// How far the end of the row is from there, at most all items: item i is in the row where 32 * i is less.
static inline u32 reach_of(u64 first, u64 count)
{
    return first < count ? (u32)min(count - first, (u64)(32 * ITEMS)) : 0;
}

// The keys of this thread; ALL behind the end of the row. With FIRST they come from x, else from the pass before.
static inline void load_keys(wide key[ITEMS], const T *x, const KEY *keys, const struct nest *n, const struct row *r, u64 row, u64 first,
                             u32 reach)
{
#ifdef FIRST
    const T *from = x + find_row(n, row).x + (i64)first * r->x_step;
    i64 step = 32 * r->x_step;
#else
    const KEY *from = keys + row * r->count + first;
#endif
    EACH(i, ITEMS) {
        key[i] = ALL;
        if (i * 32 < reach)
#ifdef FIRST
            key[i] = key_of(from[(i64)i * step]);
#else
            key[i] = (wide)from[i * 32];
#endif
    }
}
