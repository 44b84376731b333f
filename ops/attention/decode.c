// out = softmax(scale * Q K^T) V for few queries and many keys, which reading K and V bounds: sm_80 and later.
//
// A block has 16 rows of Q that share a head of K and V: all queries of all heads of Q with that head. Each of its
// warps reads every WARPS-th group of 16 keys through a ring of shared memory of its own, so that no warp waits for
// another, and multiplies with mma. At the end the results of warps are added, weighted by their largest scores, in a
// fixed order. With PARTS several blocks have a part of the keys each: they leave their results in memory, and the one
// that comes last adds them up, in the order of the keys. No block waits for another. SHARES: the groups of keys of all
// heads are one line, of which every block has an equal share: the end of one head and the start of the next.
//
// Rows start at multiples of 16 bytes; HD is a multiple of 8. LENGTHS: each batch has its own number of keys.
// PAGED: keys are in pages, and a table says which page has the keys of a batch. MASK and what comes with it, without
// OFFSETS: mask.h. CACHE_f8e4 or CACHE_f8e5: K and V are of that type, HD is a multiple of 16, and a warp makes 16-bit
// numbers of a group before it multiplies.
#include <kiln/overlap.h>

#include "mask.h"
#include "sizes.h"

KERNEL_OVERLAPS

#if !defined(HD)
#    define HD 128
#endif
tune(CAUSAL, 0, 1);
tune(STAGES, 4, 2, 3, 6, 8);

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

#if defined(CACHE_f8e4)
typedef f8e4 cache_t;
#    define HAS_CACHE
#elif defined(CACHE_f8e5)
typedef f8e5 cache_t;
#    define HAS_CACHE
#else
typedef elem_t cache_t;
#endif

enum {
    WARPS = 4,
    ROWS = DECODE_ROWS,
    KEYS = 16, // of a group
    GRANULES = HD / 8,
    STEPS = (HD + 15) / 16, // of mma along the head dimension
    PANELS = (HD + 63) / 64,
    TILE_BYTES = PANELS * ROWS * 128, // of Q, or of a group's keys or values
#if defined(HAS_CACHE)
    RAW_BYTES = KEYS * HD, // of a group's keys or values
    STAGE_BYTES = 2 * RAW_BYTES,
    WIDE_BYTES = 2 * TILE_BYTES, // of a warp: the group that it multiplies
#else
    STAGE_BYTES = 2 * TILE_BYTES,
    WIDE_BYTES = 0,
#endif
    RING_BYTES = STAGES * STAGE_BYTES,
    PITCH = HD + 8, // numbers from row to row of the results that are added; keeps the banks apart
    SUM_BYTES = ROWS * PITCH * 4,
    PART = ROWS * (HD + 2), // numbers of a part: results of rows, then their largest scores and sums
    USED_BYTES = TILE_BYTES + WARPS * (RING_BYTES + WIDE_BYTES),
    SHARED_BYTES = USED_BYTES > WARPS * SUM_BYTES ? USED_BYTES : WARPS * SUM_BYTES
};

_Alignas(128) shared u8 smem[];

typedef struct strides { // in elements
    i64 batch, head, row;
} strides;

typedef struct shape {
    u32 heads, kv_heads, queries, keys;
    u32 row_tiles;               // of 16 rows
    u32 parts;                   // blocks that share the keys of a tile of rows; SHARES: at most
    u32 units;                   // tiles of rows of all heads
    u32 pages, page_size, table; // how many there are; their keys; page numbers of a batch in the table
    f32 scale;                   // times the logarithm of e to base 2
} shape;

typedef struct tensors {
    strides q, k, v, out, lse;
} tensors;

typedef struct source { // of keys or values of one head
    const cache_t *at;
    strides by;
} source;

typedef struct sums { // of a warp; a lane has two rows, lane() / 4 and 8 further
    f32 top[2], sum[2], out[STEPS * 2][4];
} sums;

// Where granule g of row r of a tile is: panels of 128 bytes, the granules of neighbouring rows on other banks.
static u32 place(u32 r, u32 g)
{
    return g / 8 * (ROWS * 128) + r * 128 + ((g % 8 ^ (r & 7)) * 16);
}

// A tile's row; `has_row`: without it the row is zeros.
static void copy_granule(u8 *tile, u32 r, u32 g, const elem_t *row, bool has_row)
{
    async_copy_16_part(tile + place(r, g), row + (g < GRANULES ? g * 8 : 0), has_row && g < GRANULES ? 16 : 0);
}

// 16 keys and values from `first` on, by one warp. Behind `end` there are zeros.
static void copy_group(u8 *stage, source k, source v, const i32 *table, shape s, u32 first, u32 end)
{
#if defined(HAS_CACHE)
    enum { WIDTH = HD / 16, EACH = (KEYS * WIDTH + 31) / 32 }; // granules of a row, of a lane
#else
    enum { WIDTH = STEPS * 2, EACH = KEYS * WIDTH / 32 }; // granules of a row, of a lane
#endif
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 at = i * 32 + lane(), r = at / WIDTH, g = at % WIDTH, key = first + r;
        bool has_row = key < end;
        i64 page = 0;
        u32 row = has_row ? key : 0;
#if defined(PAGED)
        u32 number = row / s.page_size;
        row -= number * s.page_size;
        page = has_row ? table[number] : 0;
        has_row = has_row && page >= 0 && page < s.pages;
        page = has_row ? page : 0;
#endif
#if defined(HAS_CACHE)
        if (at < KEYS * WIDTH) {
            const cache_t *from_k = k.at + (page * k.by.batch + row * k.by.row + g * 16);
            const cache_t *from_v = v.at + (page * v.by.batch + row * v.by.row + g * 16);
            async_copy_16_part((cache_t *)(stage + at * 16), from_k, has_row ? 16 : 0);
            async_copy_16_part((cache_t *)(stage + RAW_BYTES + at * 16), from_v, has_row ? 16 : 0);
        }
#else
        copy_granule(stage, r, g, k.at + (page * k.by.batch + row * k.by.row), has_row);
        copy_granule(stage + TILE_BYTES, r, g, v.at + (page * v.by.batch + row * v.by.row), has_row);
#endif
    }
}

#if defined(HAS_CACHE)
// A group's keys and values as 16-bit tiles. A lane has the granules that it copied itself.
static void widen_group(u8 *tiles, const u8 *stage)
{
    enum { WIDTH = HD / 16, EACH = (KEYS * WIDTH + 31) / 32 };
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 at = i * 32 + lane(), r = at / WIDTH, g = at % WIDTH;
        if (at < KEYS * WIDTH) {
#pragma unroll
            for (u32 is_v = 0; is_v < 2; is_v++) {
                const cache_t *from = (const cache_t *)(stage + is_v * RAW_BYTES + at * 16);
#pragma unroll
                for (u32 half = 0; half < 2; half++) {
                    u32 words[4];
#pragma unroll
                    for (u32 n = 0; n < 4; n++)
                        words[n] = PACK(f32(from[half * 8 + n * 2]), f32(from[half * 8 + n * 2 + 1]));
                    *(u32x4 *)(tiles + is_v * TILE_BYTES + place(r, g * 2 + half)) =
                        (u32x4){words[0], words[1], words[2], words[3]};
                }
            }
        }
    }
}
#endif

// scores[n] are those of keys 8 * n … of the group.
static void multiply_keys(f32 (*scores)[2][4], const u8 *q, const u8 *keys)
{
    u32 l = lane();
#pragma unroll
    for (u32 step = 0; step < STEPS; step++) {
        u32 a[4], words[4];
        ldmatrix(a, q + place(l % 16, step * 2 + l / 16));
        ldmatrix(words, keys + place(l / 16 * 8 + l % 8, step * 2 + l / 8 % 2));
        u32 low[2] = {words[0], words[1]}, high[2] = {words[2], words[3]};
        MULTIPLY((*scores)[0], a, low);
        MULTIPLY((*scores)[1], a, high);
    }
}

static void add_values(sums *w, u32 (*weights)[4], const u8 *values)
{
    u32 l = lane();
#pragma unroll
    for (u32 step = 0; step < STEPS; step++) {
        u32 words[4];
        ldmatrix_transposed(words, values + place(l % 16, step * 2 + l / 16));
        u32 low[2] = {words[0], words[1]}, high[2] = {words[2], words[3]};
        MULTIPLY(w->out[step * 2], *weights, low);
        MULTIPLY(w->out[step * 2 + 1], *weights, high);
    }
}

// The sum so far is scaled when a larger score comes. `seen`: the keys that each of the lane's rows sees.
#if defined(MASK)
typedef struct masked_rows { // of a lane: where its two rows are, and from which key on they see
    part p;
    u32 batch, head[2], query[2], begin[2];
} masked_rows;
#    define MASKED_ROWS , const masked_rows *rows MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m)
#    define MASKED_ARGS , &rows_of MASK_ARGUMENTS(q_offsets, k_offsets, slopes, bias, m)
#else
#    define MASKED_ROWS
#    define MASKED_ARGS
#endif

static void add_group(sums *w, const u8 *q, const u8 *stage, u32 first, u32x2 seen, f32 scale MASKED_ROWS)
{
    f32 scores[2][4] = {{0.0f}};
    multiply_keys(&scores, q, stage);
    f32 shrink[2];
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        f32 top = w->top[half], sum = 0.0f;
        u32 most = half ? seen.y : seen.x;
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
            u32 key = first + e / 2 * 8 + lane() % 4 * 2 + e % 2, at = half * 2 + e % 2;
#if defined(MASK)
            f32 score = -INFINITY;
            if (key >= rows->begin[half] && key < most) {
                score = scores[e / 2][at] * scale;
                ADD_TO(score, 1.44269504f, m, slopes, bias, rows->p, rows->batch, rows->head[half], rows->query[half], key);
            }
            scores[e / 2][at] = score;
#else
            scores[e / 2][at] = key < most ? scores[e / 2][at] * scale : -INFINITY;
#endif
            top = max(top, scores[e / 2][at]);
        }
        top = max(top, shuffle_xor(top, 1));
        top = max(top, shuffle_xor(top, 2));
        f32 base = top == -INFINITY ? 0.0f : top; // no key is seen yet
        shrink[half] = fast_exp2(w->top[half] - base);
        w->top[half] = top;
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
            u32 at = half * 2 + e % 2;
            scores[e / 2][at] = fast_exp2(scores[e / 2][at] - base);
            sum += scores[e / 2][at];
        }
        w->sum[half] = w->sum[half] * shrink[half] + sum;
    }
    if (warp_any(shrink[0] != 1.0f || shrink[1] != 1.0f)) {
#pragma unroll
        for (u32 n = 0; n < STEPS * 2; n++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                w->out[n][e] *= shrink[e / 2];
    }
    u32 weights[4] = {PACK(scores[0][0], scores[0][1]), PACK(scores[0][2], scores[0][3]),
                      PACK(scores[1][0], scores[1][1]), PACK(scores[1][2], scores[1][3])};
    add_values(w, &weights, stage + TILE_BYTES);
}

// The results of the warps become one, of the tile's rows that there are: numbers `pitch` apart at `to`, largest scores and
// sums. `to` may be the start of shared memory.
static void add_warps(const sums *w, u32 rows, f32 *to, u32 pitch, f32 *top, f32 *sum)
{
    shared f32 tops[WARPS][ROWS], parts[WARPS][ROWS];
    f32 *all = (f32 *)smem;
    u32 row = lane() / 4;
    barrier(); // the rings are no longer read
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        f32 part = w->sum[half];
        part += shuffle_xor(part, 1);
        part += shuffle_xor(part, 2);
        if (lane() % 4 == 0) {
            tops[warp()][row + half * 8] = w->top[half];
            parts[warp()][row + half * 8] = part;
        }
    }
#pragma unroll
    for (u32 half = 0; half < 2; half++)
        if (row + half * 8 < rows) {
#pragma unroll
            for (u32 n = 0; n < STEPS * 2; n++)
                if (n * 8 < HD)
                    *(f32x2 *)(all + (warp() * ROWS + row + half * 8) * PITCH + n * 8 + lane() % 4 * 2) =
                        (f32x2){w->out[n][half * 2], w->out[n][half * 2 + 1]};
        }
    barrier();
    for (u32 at = thread_x(); at < rows * (HD / 4); at += 32 * WARPS) {
        u32 r = at / (HD / 4), column = at % (HD / 4) * 4;
        f32 largest = -INFINITY, total = 0.0f;
        f32x4 x = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (u32 i = 0; i < WARPS; i++)
            largest = max(largest, tops[i][r]);
#pragma unroll
        for (u32 i = 0; i < WARPS; i++) {
            f32 weight = tops[i][r] == -INFINITY ? 0.0f : fast_exp2(tops[i][r] - largest);
            f32x4 v = *(const f32x4 *)(all + (i * ROWS + r) * PITCH + column);
            total += weight * parts[i][r];
            x.x += weight * v.x;
            x.y += weight * v.y;
            x.z += weight * v.z;
            x.w += weight * v.w;
        }
        *(f32x4 *)(to + r * pitch + column) = x;
        if (column == 0) {
            top[r] = largest;
            sum[r] = total;
        }
    }
}

#if defined(PARTS)
// Does this block leave the last part? The first barrier gathers what it wrote; thread 0's fences hand it on.
static bool is_last_part(u32 *ticket, u32 parts)
{
    shared u32 is_last;
    barrier();
    if (thread_x() == 0) {
        fence_device();
        u32 turn = atomic_add(ticket, 1u);
        fence_device();
        is_last = turn == parts - 1;
        if (is_last)
            atomic_store(ticket, 0u);
    }
    barrier();
    return promise_block_uniform(is_last != 0);
}

// All parts become one, where a single block has its results. The weights of a part's rows lie behind them. Eight threads
// have a row's parts; the first results are on their way while the weights are made.
static void add_parts(const f32 *from, f32 *top, f32 *sum, u32 rows, u32 parts)
{
    enum { SHARE = WARPS * 32 / ROWS, EACH = DECODE_PARTS / SHARE, EARLY = 8 };
    f32 *all = (f32 *)smem, *weights = all + ROWS * PITCH; // [part][row]
    u32 row = thread_x() / SHARE, turn = thread_x() % SHARE, count = rows * (HD / 4);
    f32 tops[EACH], totals[EACH], largest = -INFINITY, total = 0.0f;
    f32x4 early[EARLY];
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 part = i * SHARE + turn;
        const f32 *its = from + ((u64)part * PART + ROWS * HD + row);
        bool is_there = part < parts && row < rows;
        tops[i] = is_there ? its[0] : -INFINITY;
        totals[i] = is_there ? its[ROWS] : 0.0f;
    }
#pragma unroll
    for (u32 i = 0; i < EARLY; i++) {
        early[i] = (f32x4){0.0f, 0.0f, 0.0f, 0.0f};
        if (i < parts && thread_x() < count)
            early[i] = *(const f32x4 *)(from + ((u64)i * PART + thread_x() * 4));
    }
#pragma unroll
    for (u32 i = 0; i < EACH; i++)
        largest = max(largest, tops[i]);
#pragma unroll
    for (u32 apart = 1; apart < SHARE; apart *= 2)
        largest = max(largest, shuffle_xor(largest, apart));
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        f32 weight = tops[i] == -INFINITY ? 0.0f : fast_exp2(tops[i] - largest);
        total += weight * totals[i];
        if (i * SHARE + turn < parts)
            weights[(i * SHARE + turn) * ROWS + row] = weight;
    }
#pragma unroll
    for (u32 apart = 1; apart < SHARE; apart *= 2)
        total += shuffle_xor(total, apart);
    if (turn == 0) {
        top[row] = largest;
        sum[row] = total;
    }
    barrier();
    for (u32 at = thread_x(); at < count; at += 32 * WARPS) {
        u32 r = at / (HD / 4), column = at % (HD / 4) * 4, i = 0;
        f32x4 x = {0.0f, 0.0f, 0.0f, 0.0f};
        if (at == thread_x()) {
#pragma unroll
            for (; i < EARLY; i++)
                if (i < parts) {
                    f32 weight = weights[i * ROWS + r];
                    x.x += weight * early[i].x;
                    x.y += weight * early[i].y;
                    x.z += weight * early[i].z;
                    x.w += weight * early[i].w;
                }
        }
#pragma unroll 8
        for (; i < parts; i++) {
            f32x4 v = *(const f32x4 *)(from + ((u64)i * PART + r * HD + column));
            f32 weight = weights[i * ROWS + r];
            x.x += weight * v.x;
            x.y += weight * v.y;
            x.z += weight * v.z;
            x.w += weight * v.w;
        }
        *(f32x4 *)(all + r * PITCH + column) = x;
    }
}
#endif

// What a block has of a tile of rows: groups of DECODE_GROUP keys, and which of its parts that is.
typedef struct piece {
    u32 unit, first, last, split, parts; // groups first … last - 1
} piece;

#if defined(SHARES)
// The line of all groups, and where it is cut: share b begins at group count * b / shares.
typedef struct line_of_groups {
    u32 each, count; // groups of a unit, of all
} line_of_groups;

static line_of_groups line_of(shape s)
{
    u32 each = (s.keys + DECODE_GROUP - 1) / DECODE_GROUP;
    return (line_of_groups){each, each * s.units};
}

static u32 share_begin(line_of_groups line, u32 share)
{
    return (u32)((u64)line.count * share / grid_dim_x());
}

static u32 share_with(line_of_groups line, u32 group)
{
    return (u32)((((u64)group + 1) * grid_dim_x() - 1) / line.count);
}

// From group `at` of the line on.
static piece piece_at(line_of_groups line, u32 at)
{
    u32 unit = at / line.each, start = unit * line.each, share = share_with(line, start);
    u32 end = min(share_begin(line, block_x() + 1), start + line.each);
    return (piece){unit, at - start, end - start, block_x() - share,
                   share_with(line, start + line.each - 1) - share + 1};
}
#endif

#if defined(SHARES) && !defined(PAGED)
// A warp's 16 keys and values of a unit, from `first` on.
static void prefetch_group(const cache_t *k, const cache_t *v, shape s, tensors by, u32 unit, u32 first)
{
    enum { LINE = 128 / sizeof(cache_t), LINES = (HD + LINE - 1) / LINE };
    u32 head = unit / s.row_tiles % s.kv_heads, batch = unit / s.row_tiles / s.kv_heads;
#pragma unroll
    for (u32 i = 0; i < (KEYS * LINES + 31) / 32; i++) {
        u32 at = i * 32 + lane(), row = first + at / LINES;
        i64 column = (i64)(at % LINES * LINE);
        if (at < KEYS * LINES && row < s.keys) {
            prefetch(k + (batch * by.k.batch + head * by.k.head + (i64)row * by.k.row + column));
            prefetch(v + (batch * by.v.batch + head * by.v.head + (i64)row * by.v.row + column));
        }
    }
}
#endif

#if !defined(LENGTHS) && !defined(PAGED) && !defined(MASK)
// The block's first keys and values are on their way while the kernel before ends: a prefetch sees what that still writes.
static void prefetch_first(const cache_t *k, const cache_t *v, shape s, tensors by, u32 parts)
{
    enum { LINE = 128 / sizeof(cache_t), LINES = (HD + LINE - 1) / LINE, MOST = (STAGES - 1) * WARPS * KEYS };
#if defined(SHARES)
    line_of_groups line = line_of(s);
    piece x = piece_at(line, share_begin(line, block_x()));
    u32 unit = x.unit, begin = x.first * DECODE_GROUP, share = (x.last - x.first) * DECODE_GROUP;
#else
    u32 unit = block_x() / parts, split = block_x() - unit * parts;
    u32 share = (s.keys + parts * (WARPS * KEYS) - 1) / (parts * (WARPS * KEYS)) * (WARPS * KEYS);
    u32 begin = min(split * share, s.keys);
#endif
    u32 head = unit / s.row_tiles % s.kv_heads, batch = unit / s.row_tiles / s.kv_heads;
    u32 count = min(min(share, (u32)MOST), s.keys - begin);
    for (u32 at = thread_x(); at < count * LINES; at += 32 * WARPS) {
        i64 row = (i64)(begin + at / LINES), column = (i64)(at % LINES * LINE);
        prefetch(k + (batch * by.k.batch + head * by.k.head + row * by.k.row + column));
        prefetch(v + (batch * by.v.batch + head * by.v.head + row * by.v.row + column));
    }
}
#endif

kernel block(32 * WARPS) min_blocks(HD > 128 ? 1 : 2) void attention(const elem_t *q, const cache_t *k, const cache_t *v, elem_t *out,
#if !defined(NO_LSE)
                                                        f32 *lse,
#endif
#if defined(LENGTHS)
                                                        const i32 *lengths,
#endif
#if defined(PAGED)
                                                        const i32 *pages,
#endif
#if defined(PARTS)
                                                        f32 *left, u32 *tickets, // results of parts, and how many there are
#endif
                                                        shape s, tensors by
#if defined(HAS_CACHE)
                                                        , f32 v_scale // of the numbers of V
#endif
                                                        MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m))
{
    shared f32 top[ROWS], sum[ROWS];
#if defined(PARTS)
    u32 parts = s.parts;
#else
    u32 parts = 1;
#endif
    kernel_launch_next();
#if !defined(LENGTHS) && !defined(PAGED) && !defined(MASK)
    prefetch_first(k, v, s, by, parts);
#endif
    kernel_wait_previous();
#if defined(SHARES)
    line_of_groups line = line_of(s);
    u32 line_at = share_begin(line, block_x()), line_end = share_begin(line, block_x() + 1);
#else
    u32 line_at = 0, line_end = 0;
#endif
    do { // the block's pieces, one after the other
#if defined(SHARES)
        piece own = piece_at(line, line_at);
        line_at += own.last - own.first;
        u32 unit = own.unit, split = own.split;
        parts = own.parts;
        barrier(); // the results of the piece before have left shared memory
#else
        u32 unit = block_x() / parts, split = block_x() - unit * parts;
#endif
        u32 tile = unit % s.row_tiles, head = unit / s.row_tiles % s.kv_heads, batch = unit / s.row_tiles / s.kv_heads;
        u32 sharing = s.heads / s.kv_heads, rows = sharing * s.queries;
        u32 keys = s.keys;
#if defined(LENGTHS)
        i32 length = lengths[batch];
        keys = length < 0 ? 0u : min((u32)length, s.keys);
#endif
#if defined(PAGED)
        const i32 *table = pages + (u64)batch * s.table;
        source from_k = {k + head * by.k.head, by.k}, from_v = {v + head * by.v.head, by.v};
#else
        const i32 *table = NULL;
        source from_k = {k + (batch * by.k.batch + head * by.k.head), by.k};
        source from_v = {v + (batch * by.v.batch + head * by.v.head), by.v};
#endif
        // The part's keys: whole groups of all warps.
#if defined(MASK)
        part p = {0, s.queries, 0, keys};
        u32 low = keys_of(m, p, min(tile * ROWS / sharing, s.queries - 1)).begin;
        u32 high = keys_of(m, p, min((tile * ROWS + ROWS - 1) / sharing, s.queries - 1)).end;
        high = max(high, low);
        u32 share = (high - low + parts * (WARPS * KEYS) - 1) / (parts * (WARPS * KEYS)) * (WARPS * KEYS);
        u32 begin = min(low + split * share, high), end = min(begin + share, high);
#elif defined(SHARES)
        u32 begin = own.first * DECODE_GROUP, end = min(own.last * DECODE_GROUP, keys);
#else
        u32 share = (keys + parts * (WARPS * KEYS) - 1) / (parts * (WARPS * KEYS)) * (WARPS * KEYS);
        u32 begin = min(split * share, keys), end = min(begin + share, keys);
#endif

        // The rows of Q: row r is query r / sharing of head r % sharing.
        for (u32 at = thread_x(); at < ROWS * STEPS * 2; at += 32 * WARPS) {
            u32 r = at / (STEPS * 2), g = at % (STEPS * 2), row = tile * ROWS + r, query = row / sharing;
            bool has_row = row < rows;
            const elem_t *from = q + (batch * by.q.batch + (head * sharing + row % sharing) * by.q.head + query * by.q.row);
            copy_granule(smem, r, g, has_row ? from : q, has_row);
        }
        async_commit();
        u8 *ring = smem + TILE_BYTES + warp() * RING_BYTES;
#if defined(HAS_CACHE)
        u8 *wide = smem + TILE_BYTES + WARPS * RING_BYTES + warp() * WIDE_BYTES;
#endif
        u32 first = begin + warp() * KEYS;
#pragma unroll
        for (u32 i = 0; i < STAGES - 1; i++) {
            u32 at = first + i * (WARPS * KEYS);
            if (at < end)
                copy_group(ring + i * STAGE_BYTES, from_k, from_v, table, s, at, end);
            async_commit();
        }
        async_wait(STAGES - 1);
        barrier(); // Q is there

        sums w;
        u32 seen[2];
#if defined(MASK)
        masked_rows rows_of;
        rows_of.p = p;
        rows_of.batch = batch;
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            u32 row = min(tile * ROWS + lane() / 4 + half * 8, rows - 1);
            rows_of.query[half] = row / sharing;
            rows_of.head[half] = head * sharing + row % sharing;
            span its = keys_of(m, p, row / sharing);
            rows_of.begin[half] = its.begin;
            seen[half] = its.end;
            w.top[half] = -INFINITY;
            w.sum[half] = 0.0f;
        }
#else
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            u32 row = tile * ROWS + lane() / 4 + half * 8, hidden = s.queries - 1 - min(row / sharing, s.queries - 1);
            seen[half] = !CAUSAL ? keys : keys > hidden ? keys - hidden : 0;
            w.top[half] = -INFINITY;
            w.sum[half] = 0.0f;
        }
#endif
#pragma unroll
        for (u32 n = 0; n < STEPS * 2; n++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                w.out[n][e] = 0.0f;
        u32 now = 0, ahead = STAGES - 1;
        for (u32 at = first; at < end; at += WARPS * KEYS) {
            async_wait(STAGES - 2);
            warp_sync();
#if defined(HAS_CACHE)
            widen_group(wide, ring + now * STAGE_BYTES);
            warp_sync();
            const u8 *group = wide;
#else
            const u8 *group = ring + now * STAGE_BYTES;
#endif
            add_group(&w, smem, group, at, (u32x2){min(seen[0], end), min(seen[1], end)}, s.scale MASKED_ARGS);
            warp_sync(); // the stage before is free
            u32 next = at + (STAGES - 1) * (WARPS * KEYS);
            if (next < end)
                copy_group(ring + ahead * STAGE_BYTES, from_k, from_v, table, s, next, end);
#if defined(SHARES) && !defined(PAGED)
            else if (line_at < line_end) // the next head's first keys, while this one's last are multiplied
                prefetch_group(k, v, s, by, unit + 1, next - own.last * DECODE_GROUP);
#endif
            async_commit();
            now = now + 1 == STAGES ? 0 : now + 1;
            ahead = ahead + 1 == STAGES ? 0 : ahead + 1;
        }
        async_wait(0);
        u32 here = min(rows - tile * ROWS, (u32)ROWS);
#if defined(PARTS)
        f32 *first_part = left + (u64)unit * s.parts * PART, *to = first_part + (u64)split * PART;
        add_warps(&w, here, to, HD, to + ROWS * HD, to + (ROWS * HD + ROWS));
        if (!is_last_part(tickets + unit, parts))
            continue;
        add_parts(first_part, top, sum, here, parts);
#else
        add_warps(&w, here, (f32 *)smem, PITCH, top, sum);
#endif
        barrier();

        f32 *all = (f32 *)smem;
        for (u32 at = thread_x(); at < ROWS * (HD / 8); at += 32 * WARPS) {
            u32 r = at / (HD / 8), column = at % (HD / 8) * 8, row = tile * ROWS + r, query = row / sharing;
            if (row >= rows)
                break;
            f32 largest = top[r], total = sum[r], x[8];
#pragma unroll
            for (u32 e = 0; e < 8; e++)
                x[e] = all[r * PITCH + column + e];
            u32 in_group = row % sharing;
            f32 factor = total > 0.0f ? 1.0f / total : 0.0f; // a row that sees no key is zeros
#if defined(HAS_CACHE)
            factor *= v_scale;
#endif
            i64 to = batch * by.out.batch + (head * sharing + in_group) * by.out.head + query * by.out.row + column;
            *(u32x4 *)(out + to) = (u32x4){PACK(x[0] * factor, x[1] * factor), PACK(x[2] * factor, x[3] * factor),
                                           PACK(x[4] * factor, x[5] * factor), PACK(x[6] * factor, x[7] * factor)};
#if !defined(NO_LSE)
            if (column == 0)
                lse[batch * by.lse.batch + (head * sharing + in_group) * by.lse.head + query * by.lse.row] =
                    total > 0.0f ? (log2(total) + largest) * 0.69314718f : -INFINITY;
#endif
        }
    } while (line_at < line_end);
}
