// Part of forward_sm90.c: which keys a query sees. With -D MASK there are windows, sequences of different lengths and slopes
// (mask.h); then CAUSAL is 0, STRIDED is 1, and the order of tiles is defined here, too.
//
// A tile's blocks of keys begin at the first key that one of its queries sees. A tile whose queries see none has one
// block, of which nothing is seen: its results are zeros.
#if defined(MASK)
typedef struct query_tile {
    u32 head, row, blocks; // first query, blocks of keys: 0, there is no tile
    u32 part;              // 0: there is no SPLIT with a mask
    u32 end;               // of the queries
    u32 key, key_end;      // the first key of block 0; behind the last key of the sequence
    i32 shift;             // from a query to the key that it is at
    i32 left, right;       // keys that it sees before that one and behind it
    f32 slope;             // what one key more of distance adds to a score
#    if defined(HAS_BIAS)
    const bias_t *bias; // of the head
    i64 by_query, by_key;
#    endif
} query_tile;

typedef struct cursor {
    u32 unit, second; // second: the other tile of a pair
    mask m;
#if defined(OFFSETS)
    const i32 *q_offsets, *k_offsets;
#endif
#if defined(SLOPES)
    const f32 *slopes;
#endif
#if defined(HAS_BIAS)
    const bias_t *bias;
#endif
} cursor;

#define FIRST(q_offsets, k_offsets, slopes, bias, m)                                               \
    ((cursor){.unit = block_x(), MASK_FIELDS(q_offsets, k_offsets, slopes, bias, m)})

static query_tile tile_at(const cursor *c, shape s)
{
    u32 head = c->unit / s.units_per_head, index = c->unit - head * s.units_per_head;
    bool is_same = false;
    if (s.units_per_head != s.tiles) { // pairs
        u32 other = s.tiles - 1 - index;
        is_same = c->second && other == index; // the middle one of an odd number
        index = c->second ? index : other;
    }
    place_of_tile at = TILE_OF_QUERIES(c->m, c->q_offsets, c->k_offsets, index, BM, s.queries, s.keys);
    part p = at.p;
    query_tile t = {.head = head,
                    .row = at.first,
                    .end = p.first_query + p.queries,
                    .key_end = p.first_key + p.keys,
                    .shift = (i32)(p.first_key + p.keys - p.queries - p.first_query),
                    .left = (i32)min(c->m.left, (i64)MOST_SHIFT),
                    .right = (i32)min(c->m.right, (i64)MOST_SHIFT)};
    if (is_same || t.row >= t.end)
        return t; // no blocks
    i32 first = (i32)t.row + t.shift, last = (i32)min(t.row + BM, t.end) - 1 + t.shift;
    i32 begin = max(first - t.left, (i32)p.first_key), end = min(last + t.right + 1, (i32)t.key_end);
    bool sees_none = begin >= end;
    t.key = sees_none ? p.first_key : (u32)begin;
    t.blocks = sees_none ? 1 : ((u32)(end - begin) + BN - 1) / BN;
    u32 batch = head / s.heads, own_head = head - batch * s.heads;
#if defined(SLOPES)
    t.slope = c->slopes[batch * c->m.slope_batch + own_head * c->m.slope_head] * (-1.44269504f / s.scale);
#endif
#if defined(HAS_BIAS)
    t.bias = c->bias + (batch * c->m.bias_batch + own_head * c->m.bias_head);
    t.by_query = c->m.bias_query;
    t.by_key = c->m.bias_key;
#endif
    return t;
}

static query_tile next_tile(cursor *c, shape s) // the first one from c on; c goes behind it
{
    query_tile t = {.blocks = 0};
    while (t.blocks == 0 && c->unit < s.units) {
        t = tile_at(c, s);
        c->second ^= s.units_per_head != s.tiles;
        if (c->second == 0)
            c->unit += grid_dim_x();
    }
    return t;
}

static u32 end_of(shape s, query_tile t) // of the queries
{
    return t.end;
}

// How many of a tile's blocks of keys this warpgroup looks at; 0: it has no queries.
static u32 blocks_seen(shape s, query_tile t)
{
    return t.row + warp() / 4 * 64 < t.end ? t.blocks : 0;
}

// Keys past the end of a sequence come as zeros (hopper_mask.h).
#define LOAD_KEYS(tile, map, t, block, at, full)                                                   \
    LOAD_SOME_ROWS(tile, map, BN, (t).key + (block) * BN, (t).key_end, at, full)

// Adds slopes and a bias and hides what a query may not see.
static void mask_scores(f32 (*s)[BN / 2], shape p, query_tile t, u32 block, bool is_first)
{
    i32 key = (i32)(t.key + block * BN);
    i32 own = (i32)(t.row + warp() / 4 * 64) + t.shift; // the key of the warpgroup's first query
    i32 row = own + (i32)(warp() % 4 * 16 + lane() / 4), column = key + (i32)(lane() % 4 * 2);
#if defined(SLOPES)
    f32 near = f32(row - column);
#pragma unroll
    for (u32 i = 0; i < BN / 2; i++)
        (*s)[i] = fma(abs(near + f32((i32)(i / 2 % 2 * 8) - (i32)(i / 4 * 8 + i % 2))), t.slope, (*s)[i]);
#endif
#if defined(HAS_BIAS)
    f32 unit = 1.44269504f / p.scale;
    i32 there = (i32)t.key_end - column; // of this lane's columns
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        u32 query = min(t.row + warp() * 16 + lane() / 4 + h * 8, t.end - 1);
        const bias_t *from = t.bias + (query * t.by_query + (u32)column * t.by_key);
#pragma unroll
        for (u32 n = 0; n < BN / 8; n++) {
#pragma unroll
            for (u32 odd = 0; odd < 2; odd++)
                if ((i32)(n * 8 + odd) < there)
                    (*s)[n * 4 + h * 2 + odd] = fma(f32(from[odd ? t.by_key : 0]), unit, (*s)[n * 4 + h * 2 + odd]);
            from += 8 * t.by_key;
        }
    }
#endif
    if (key >= own + 63 - t.left && key + BN <= min(own + t.right + 1, (i32)t.key_end))
        return; // all see all
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        i32 low = row + (i32)(h * 8) - t.left - column;
        i32 high = min(row + (i32)(h * 8) + t.right + 1, (i32)t.key_end) - column;
#pragma unroll
        for (u32 i = 0; i < BN / 4; i++) {
            i32 at = (i32)(i / 2 * 8 + i % 2);
            u32 score = i / 2 * 4 + h * 2 + i % 2;
            (*s)[score] = at < low || at >= high ? -INFINITY : (*s)[score];
        }
    }
}
#else
// Hides what a query may not see: keys past the end (in the last block alone), causal: after it.
static void mask_scores(f32 (*s)[BN / 2], shape p, query_tile t, u32 block, bool is_first)
{
    u32 key = (t.first + block) * BN;
    u32 column = key + lane() % 4 * 2; // of this lane's first score
    u32 first_end = t.row + p.keys - p.queries; // what the tile's first query sees last
    if (CAUSAL ? key + BN > first_end + warp() / 4 * 64 : is_first) {
        u32 seen = CAUSAL ? first_end + warp() * 16 + lane() / 4 + 1 : p.keys; // by row 0
        i32 end = (i32)(seen - column);
        i32 ends[2] = {end, end + (CAUSAL ? 8 : 0)};
#pragma unroll
        for (u32 i = 0; i < BN / 2; i++)
            if ((i32)(i / 4 * 8 + i % 2) >= ends[i / 2 % 2])
                (*s)[i] = -INFINITY;
    }
}
#endif
