// Part of backward_sm90.c: which queries see a key. With -D MASK there are windows, sequences of different lengths and
// slopes (mask.h); then CAUSAL is 0, STRIDED is 1, and units of work are defined here, too.
//
// Blocks of queries are numbered as tiles of mask.h: every sequence begins with a new one. A unit whose keys nobody sees
// has one block for each head, of which nothing is seen: its results are zeros.
#if defined(MASK)
typedef struct work { // some keys of a head and the query blocks that see them
    u32 unit, half, head, first, count;
    u32 tile, per_head;         // number of the keys; query blocks of a head
    u32 key, key_end;           // the first of the keys; behind the last one of the sequence
    u32 load_end;               // the same; with a sequence that has no queries nothing is loaded
    u32 query, query_end, base; // of the sequence: the first query, behind the last one, the first block
    i32 shift;                  // from a query to the key that it is at
    mask m;
#if defined(OFFSETS)
    const i32 *q_offsets, *k_offsets;
#endif
#if defined(SLOPES)
    const f32 *slopes;
#endif
} work;

static i32 side(i64 keys) // of a window
{
    return (i32)min(keys, (i64)MOST_SHIFT);
}

static work work_at(problem p, work w, u32 unit, u32 half)
{
    w.unit = unit;
    w.half = half;
    w.head = unit / p.per_head;
    w.tile = unit - w.head * p.per_head;
    w.tile = half ? p.key_blocks - 1 - w.tile : w.tile;
    place_of_tile at = TILE_OF_KEYS(w.m, w.q_offsets, w.k_offsets, w.tile, KEYS, p.queries, p.keys);
    part s = at.p;
    w.key = promise_block_uniform(at.first); // offsets are not written here
    w.key_end = promise_block_uniform(s.first_key + s.keys);
    w.query = promise_block_uniform(s.first_query);
    w.query_end = promise_block_uniform(s.first_query + s.queries);
    w.load_end = w.query < w.query_end ? w.key_end : w.key;
    w.base = promise_block_uniform((u32)FIRST_TILE(at, M));
    w.shift = (i32)(w.key_end - w.query_end);
    w.count = 0;
    if (w.key >= w.key_end)
        return w;
    i32 last = (i32)min(w.key + KEYS, w.key_end) - 1;
    i32 begin = max((i32)w.key - side(w.m.right) - w.shift, (i32)w.query);
    i32 end = min(last + side(w.m.left) - w.shift + 1, (i32)w.query_end);
    bool sees_none = begin >= end;
    u32 skipped = sees_none ? 0 : ((u32)begin - w.query) / M;
    w.first = w.base + skipped;
    w.per_head = sees_none ? 1 : ((u32)end - 1 - w.query) / M + 1 - skipped;
    w.count = w.per_head * p.sharing;
    return w;
}

static work next_work(problem p, work w)
{
    do {
        bool has_twin = p.per_head != p.key_blocks && w.half == 0 && w.tile * 2 + 1 != p.key_blocks;
        w = work_at(p, w, has_twin ? w.unit : w.unit + grid_dim_x(), has_twin);
    } while (w.count == 0 && w.unit < p.units);
    return w;
}

static work first_work(problem p, work w)
{
    w = work_at(p, w, block_x(), 0);
    return w.count == 0 ? next_work(p, w) : w;
}
#define SEED(q_offsets, k_offsets, slopes, bias, m) ((work){MASK_FIELDS(q_offsets, k_offsets, slopes, bias, m)})

typedef struct query_block {
    u32 head, block;
} query_block;

// Query block number i of a unit: of one head after the other.
static query_block query_block_at(problem p, work w, u32 i)
{
    u32 other = i / w.per_head;
    return (query_block){w.head * p.sharing + other, w.first + i - other * w.per_head};
}

// Blocks between the last one of a head and the first one of the next.
static u32 blocks_between(problem p, work w)
{
    return p.query_blocks - w.per_head;
}

static u32 key_at(work w)
{
    return w.key;
}

static u32 keys_end(problem p, work w)
{
    return w.key_end;
}

#define LOAD_QUERIES(t, map, w, b, at, full)                                                       \
    LOAD_SOME_ROWS(t, map, M, (w).query + ((b).block - (w).base) * M, (w).query_end, at, full)
#define LOAD_KEYS(t, map, w, at, full) LOAD_SOME_ROWS(t, map, KEYS, (w).key, (w).load_end, at, full)

// Adds slopes and hides what the queries of a block may not see.
static void mask_scores(scores *s, problem p, work w, query_block b)
{
    i32 first = (i32)(w.query + (b.block - w.base) * M) + w.shift, keys = (i32)(w.key + warp() / 4 * 64);
    i32 key = keys + (i32)(warp() % 4 * 16 + lane() / 4), own = first + (i32)(lane() % 4 * 2);
#if defined(SLOPES)
    u32 batch = b.head / p.heads;
    f32 slope = w.slopes[batch * w.m.slope_batch + (b.head - batch * p.heads) * w.m.slope_head] / -p.scale;
    f32 near = f32(own - key);
#pragma unroll
    for (u32 i = 0; i < M / 2; i++) {
        f32 *at = &(*s)[i / 32][i % 32];
        *at = fma(abs(near + f32((i32)(i / 4 * 8 + i % 2) - (i32)(i / 2 % 2 * 8))), slope, *at);
    }
#endif
    i32 left = side(w.m.left), right = side(w.m.right);
    if (keys + 64 <= (i32)w.key_end && keys + 63 - right <= first && keys + left >= first + M - 1)
        return; // all see all
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        i32 low = key + (i32)(h * 8) - right - own, high = key + (i32)(h * 8) + left - own; // columns
        if (key + (i32)(h * 8) >= (i32)w.key_end)
            high = -1;
#pragma unroll
        for (u32 i = 0; i < M / 4; i++) {
            i32 column = (i32)(i / 2 * 8 + i % 2);
            u32 score = i / 2 * 4 + h * 2 + i % 2;
            f32 *at = &(*s)[score / 32][score % 32];
            *at = column < low || column > high ? -INFINITY : *at;
        }
    }
}
#else
// Keys past the end and, causal, after the query: blocks that have none take no part.
static void mask_scores(scores *s, problem p, work w, query_block b)
{
    u32 block = b.block, length = keys_end(p, w);
    u32 keys = w.keys * KEYS + warp() / 4 * 64, end = keys + 64;
    if (end <= length && (!CAUSAL || end - 1 <= block * M + before_first(p)))
        return;
    u32 key = keys + warp() % 4 * 16 + lane() / 4;
    i32 first[2]; // the first query of the block that sees the key, from this lane's first
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        first[h] =
            CAUSAL ? (i32)(key + h * 8 - lane() % 4 * 2 - block * M - before_first(p)) : -1000;
        if (key + h * 8 >= length)
            first[h] = 1000;
    }
#pragma unroll
    for (u32 i = 0; i < M / 2; i++) {
        f32 *at = &(*s)[i / 32][i % 32];
        *at = first[i / 2 % 2] <= (i32)(i / 4 * 8 + i % 2) ? *at : -INFINITY;
    }
}
#endif
