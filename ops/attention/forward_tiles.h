// The tiles of attention forward (forward_sm90.c): where they lie in shared memory, the barriers
// that tell of them, and in which order a block of the grid takes them.
#include "strided.h"

tune(HD, 128, 64, 256); // head dimension
tune(BN, 128, 64, 80, 96, 112, 144, 160, 176, 192);
tune(WGS, 2, 3, 4);
tune(CAUSAL, 0, 1);
tune(Q_STAGES, 1, 2); // tiles of queries in shared memory

#if defined(TYPE_f16)
typedef f16 half_t;
#    define MULTIPLY wgmma_f16
#    define PACK     pack_f16
#else
typedef bf16 half_t;
#    define MULTIPLY wgmma_bf16
#    define PACK     pack_bf16
#endif

enum {
    BM = 64 * WGS,
    CHUNKS = HD / 64, // a tile is stored as chunks of 64 columns: 128 bytes a row
    Q_CHUNK = BM * 128,
    KV_CHUNK = BN * 128,
    Q_BYTES = CHUNKS * Q_CHUNK,
    KV_BYTES = CHUNKS * KV_CHUNK,
    K_AT = Q_STAGES * Q_BYTES,
    V_AT = K_AT + 2 * KV_BYTES,
    SLAB = 2048, // 16 rows of a chunk: a warp's way out
    SLABS_AT = V_AT + 2 * KV_BYTES,
    BARRIERS_AT = SLABS_AT + 4 * WGS * SLAB,
    SHARED_BYTES = BARRIERS_AT + 12 * 8,
    THREADS = 128 * WGS + 128
};

_Alignas(1024) shared u8 smem[];

typedef struct shape {
    u32 queries, keys;  // rows of a head
    u32 tiles;          // of BM queries, per head
    u32 units_per_head; // tiles; causal: pairs of tiles
    u32 units;          // of all heads
    u32 sharing;        // query heads per head of K and V
    f32 scale;          // times log2(e)
#if defined(STRIDED)
    u32 heads, kv_heads;
    steps q, k, v;
    strides out, lse;
#endif
} shape;

// --- barriers. Block of keys number n, counted over all tiles, is in stage n % 2; each use of a
// stage flips the phase of its barriers.

enum { Q_FULL, Q_EMPTY = 2, K_FULL = 4, K_EMPTY = 6, V_FULL = 8, V_EMPTY = 10 };

static mbarrier *barrier_at(u32 index, u32 n) // constants last: they become part of the address
{
    return (mbarrier *)smem + n % 2 + (BARRIERS_AT / 8 + index);
}

static void wait_full(u32 index, u32 n)
{
    mbarrier_wait(barrier_at(index, n), n / 2 % 2);
}

static void wait_empty(u32 index, u32 n)
{
    mbarrier_wait(barrier_at(index, n), n / 2 % 2 ^ 1);
}

static void release(u32 index, u32 n) // a warpgroup has read the stage
{
    if (thread_x() % 128 == 0)
        mbarrier_arrive(barrier_at(index, n));
}

// The same for tile number n of this block of the grid, whose queries are in stage n % Q_STAGES.
static void wait_q(u32 index, u32 n, u32 flip)
{
    mbarrier_wait(barrier_at(index, n % Q_STAGES), n / Q_STAGES % 2 ^ flip);
}

static void release_q(u32 n)
{
    release(Q_EMPTY, n % Q_STAGES);
}

// --- which tile comes next

typedef struct cursor {
    u32 unit, second; // second: the other tile of a pair
} cursor;

static void step(cursor *c)
{
    if (CAUSAL)
        c->second ^= 1;
    if (!CAUSAL || c->second == 0)
        c->unit += grid_dim_x();
}

typedef struct tile {
    u32 head, row, blocks; // first query, blocks of keys: 0, there is no tile
} tile;

static tile tile_at(cursor c, shape s)
{
    u32 head = c.unit / s.units_per_head, index = c.unit - head * s.units_per_head;
    u32 blocks = (s.keys + BN - 1) / BN;
    if (CAUSAL) {
        u32 other = s.tiles - 1 - index;
        bool is_same = c.second && other == index; // the middle one of an odd number
        index = c.second ? index : other;
        u32 seen = (index * BM + BM + s.keys - s.queries + BN - 1) / BN;
        blocks = is_same ? 0 : min(blocks, seen);
    }
    return (tile){head, index * BM, blocks};
}

static tile next_tile(cursor *c, shape s) // the first one from c on; c goes behind it
{
    tile t = {0, 0, 0};
    for (; t.blocks == 0 && c->unit < s.units; step(c))
        t = tile_at(*c, s);
    return t;
}

// How many of a tile's blocks of keys the queries of this warpgroup see; 0: it has no queries.
static u32 blocks_seen(shape s, tile t)
{
    u32 row = t.row + warp() / 4 * 64;
    if (row >= s.queries)
        return 0;
    return CAUSAL ? min(t.blocks, (row + 64 + s.keys - s.queries + BN - 1) / BN) : t.blocks;
}
