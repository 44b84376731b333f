// What attention on mma (sm_80 and later) shares: tiles of rows in shared memory, copies into them, and products of the
// 16 rows that a warp has. A file that includes it says before how many rows a tile of the other side has (OTHER).
//
// Rows start at multiples of 16 bytes; HD is a multiple of 8 up to 256. -D TYPE_f16 for f16 instead of bf16. Which keys
// a query sees and what is added to scores: mask.h, whose MASK is always defined here.
#include "sizes.h"

#if defined(TYPE_f16)
typedef f16 elem_t;
#    define ROUND    to_f16
#    define PACK     pack_f16
#    define MULTIPLY mma_f16
#else
typedef bf16 elem_t;
#    define ROUND    to_bf16
#    define PACK     pack_bf16
#    define MULTIPLY mma_bf16
#endif
#define LOG2_E 1.44269504f

enum {
    GRANULES = HD / 8,      // of 16 bytes, of a row
    STEPS = (HD + 15) / 16, // of mma along the head dimension
    PANELS = (HD + 63) / 64,
    ROW_BYTES = PANELS * 128,
    OTHER_BYTES = OTHER * ROW_BYTES,
    ACC_STEPS = STEPS > 8 ? 16 : 8 // of accumulators, at most
};

typedef struct strides { // in elements
    i64 batch, head, row;
} strides;

typedef struct shape {
    u32 batch, heads, kv_heads, queries, keys;
    u32 tiles; // of a head, on the side that the blocks have
    f32 scale, factor; // for scores, times the logarithm of e to base 2; for gradients
} shape;

// Where granule g of row r is in a tile of so many rows: panels of 128 bytes, the granules of neighbouring rows on other
// banks.
static u32 place(u32 rows, u32 r, u32 g)
{
    return g / 8 * (rows * 128) + r * 128 + ((g % 8 ^ (r & 7)) * 16);
}

// Starts the copies of rows first … of a head into a tile, by all threads, eight for a row; from `end` on rows are zeros.
static void copy_tile(u8 *tile, u32 rows, u32 threads, const elem_t *head, i64 by_row, u32 first, u32 end)
{
    u32 g = thread_x() % 8;
#pragma unroll
    for (u32 i = 0; i < rows; i += threads / 8) {
        u32 r = i + thread_x() / 8;
        bool has_row = first + r < end;
        const elem_t *from = head + (has_row ? (first + r) * by_row + g * 8 : 0);
        u8 *to = tile + place(rows, r, g);
#pragma unroll
        for (u32 panel = 0; panel < PANELS; panel++)
            if (panel * 8 + g < STEPS * 2) {
                bool is_there = has_row && panel * 8 + g < GRANULES;
                async_copy_16_part(to + panel * (rows * 128), from + (is_there ? panel * 64 : 0), is_there ? 16 : 0);
            }
    }
}

// 16 columns of a warp's 16 rows as the left operand.
static void load_rows(u32 (*a)[4], const u8 *tile, u32 rows, u32 first, u32 step)
{
    ldmatrix(*a, tile + place(rows, first + lane() % 16, step * 2 + lane() / 16));
}

// sums[n] += 16 rows times the rows 8 * n … of a tile of the other side, for one step of the head dimension.
static void multiply_step(f32 (*sums)[OTHER / 8][4], u32 (*a)[4], const u8 *other, u32 step)
{
    u32 l = lane();
#pragma unroll
    for (u32 n = 0; n < OTHER / 16; n++) {
        u32 words[4];
        ldmatrix(words, other + place(OTHER, n * 16 + l / 16 * 8 + l % 8, step * 2 + l / 8 % 2));
        u32 low[2] = {words[0], words[1]}, high[2] = {words[2], words[3]};
        MULTIPLY((*sums)[n * 2], *a, low);
        MULTIPLY((*sums)[n * 2 + 1], *a, high);
    }
}

// acc[n] += weights of 16 rows and OTHER rows times columns 8 * n … of those rows, from first_step on, which is at most
// most_first. Steps behind the last one repeat that; nobody reads their sums.
static void add_rows(f32 (*acc)[ACC_STEPS * 2][4], f32 (*weights)[OTHER / 8][4], const u8 *other, u32 first_step, u32 most_first,
                     u32 steps)
{
    u32 l = lane();
#pragma unroll
    for (u32 n = 0; n < OTHER / 16; n++) {
        u32 a[4] = {PACK((*weights)[n * 2][0], (*weights)[n * 2][1]), PACK((*weights)[n * 2][2], (*weights)[n * 2][3]),
                    PACK((*weights)[n * 2 + 1][0], (*weights)[n * 2 + 1][1]),
                    PACK((*weights)[n * 2 + 1][2], (*weights)[n * 2 + 1][3])};
#pragma unroll
        for (u32 step = 0; step < steps; step++) {
            u32 words[4], its = first_step + step;
            if (most_first + step >= STEPS)
                its = min(its, STEPS - 1u);
            ldmatrix_transposed(words, other + place(OTHER, n * 16 + l % 16, its * 2 + l / 16));
            u32 low[2] = {words[0], words[1]}, high[2] = {words[2], words[3]};
            MULTIPLY((*acc)[step * 2], a, low);
            MULTIPLY((*acc)[step * 2 + 1], a, high);
        }
    }
}

// Stores a lane's numbers of one of its two rows, times a factor.
static void store_row(elem_t *to, f32 (*acc)[ACC_STEPS * 2][4], u32 half, f32 factor, u32 first_step, u32 steps)
{
#pragma unroll
    for (u32 n = 0; n < steps * 2; n++) {
        u32 column = first_step * 16 + n * 8 + lane() % 4 * 2;
        if (column < HD)
            *(u32 *)(to + column) = PACK((*acc)[n][half * 2] * factor, (*acc)[n][half * 2 + 1] * factor);
    }
}

// A row of scores in a block: which columns it has, and what is added to them. The lane's first column is number 0, the
// others are 1, 8, 9, 16 … Numbers relative to the block keep what all elements need out of registers.
typedef struct edge {
    i32 low, high; // columns from low to high - 1 are seen
#if defined(SLOPES)
    f32 slope, near; // times -LOG2_E; the distance of column 0, which falls by one with each column
#endif
#if defined(HAS_BIAS)
    const bias_t *bias; // of the next two columns
    i64 step;
#endif
} edge;

// The next column of a row, number 8 * n or one more: the score times log2(e), or minus infinity where it is not seen.
static f32 score_of(const edge *x, f32 score, u32 n, u32 odd, bool is_inside)
{
    i32 column = (i32)(n * 8 + odd);
    if (!is_inside && (column < x->low || column >= x->high))
        return -INFINITY;
#if defined(SLOPES)
    score = fma(abs(x->near - f32(column)), x->slope, score);
#endif
#if defined(HAS_BIAS)
    score = fma(f32(x->bias[odd ? x->step : 0]), LOG2_E, score);
#endif
    return score;
}

static void next_columns(edge *x)
{
#if defined(HAS_BIAS)
    x->bias += 8 * x->step;
#endif
}

// The edges of a lane's rows: a query's among keys from `first` on, a key's among queries. m and what follows as in
// mask.h.
#if defined(SLOPES)
#    define SET_SLOPE(x, m, slopes, batch, head, distance)                                          \
        do {                                                                                        \
            (x).slope = slopes[(batch) * (m).slope_batch + (head) * (m).slope_head] * -LOG2_E;      \
            (x).near = f32((i32)(distance));                                                        \
        } while (0)
#else
#    define SET_SLOPE(x, m, slopes, batch, head, distance) (void)0
#endif
#if defined(HAS_BIAS)
#    define SET_BIAS(x, m, from, batch, head, query, key, by)                                       \
        do {                                                                                        \
            (x).bias = from + ((batch) * (m).bias_batch + (head) * (m).bias_head +                  \
                               (query) * (m).bias_query + (key) * (m).bias_key);                    \
            (x).step = (by);                                                                        \
        } while (0)
#else
#    define SET_BIAS(x, m, from, batch, head, query, key, by) (void)0
#endif
#define EDGE_OF_QUERY(x, m, slopes, from, p, batch, head, query, seen, first)                       \
    do {                                                                                            \
        (x).low = (i32)((seen).begin - (first));                                                    \
        (x).high = (i32)((seen).end - (first));                                                     \
        SET_SLOPE(x, m, slopes, batch, head,                                                        \
                  (query) - (p).first_query + (p).keys - (p).queries - ((first) - (p).first_key));  \
        SET_BIAS(x, m, from, batch, head, query, first, (m).bias_key);                              \
    } while (0)
#define EDGE_OF_KEY(x, m, slopes, from, p, batch, head, key, seen, first)                           \
    do {                                                                                            \
        (x).low = (i32)((seen).begin - (first));                                                    \
        (x).high = (i32)((seen).end - (first));                                                     \
        SET_SLOPE(x, m, slopes, batch, head,                                                        \
                  (key) - (p).first_key - ((first) - (p).first_query + (p).keys - (p).queries));    \
        SET_BIAS(x, m, from, batch, head, first, key, (m).bias_query);                              \
    } while (0)
