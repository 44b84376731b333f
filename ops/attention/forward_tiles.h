// The tiles of attention forward (forward_sm90.c): where they lie in shared memory, and in which
// order a block of the grid works on them.
#include "hopper.h"

tune(BN, 128, 64, 80, 96, 112, 144, 160, 176, 192);
tune(WGS, 2, 1, 3, 4); // consumer warpgroups, of 64 queries
tune(CAUSAL, 0, 1);
tune(Q_STAGES, 1, 2); // tiles of queries in shared memory
tune(DEALT, 0, 1);    // causal tiles one by one, not in pairs

enum { BM = 64 * WGS, THREADS = 128 * WGS + 128 };

tile_type(q_tile, half_t, BM, HD, 128);
tile_type(kv_tile, half_t, BN, HD, 128);
tile_type(staging_tile, half_t, 16, 64, 128); // of a warp
ring_type(q_ring, Q_STAGES);
ring_type(kv_ring, 2);

typedef struct layout {
    q_tile q[Q_STAGES];
    kv_tile k[2], v[2];
    staging_tile staging[4 * WGS];
    q_ring q_ring;
    kv_ring k_ring, v_ring;
} layout;
_Alignas(1024) shared layout smem[];
enum { SHARED_BYTES = sizeof(layout) };

typedef struct shape {
    u32 queries, keys;  // rows of a head
    u32 tiles, units_per_head; // of BM queries of a head; tiles, or pairs of them (DEALT: heads)
    u32 units;          // of all heads
    u32 sharing;        // query heads per head of K and V
    f32 scale;          // times log2(e)
    u32 heads, kv_heads;
    steps q, k, v;
    strides out, lse;
    u32 parts, part_units; // SPLIT: units that share the keys of a tile (forward_join.c); units of one part
} shape;

// --- which tile comes next
#if !defined(MASK)
typedef struct query_tile {
    u32 head, row, blocks, part, first; // blocks of keys, 0: there is no tile; first: of the blocks
} query_tile;

#    define HAS_PAIRS(s) (CAUSAL && !DEALT && (WGS > 1 || (s).units_per_head != (s).tiles)) // of 64 queries: or not
static query_tile tile_at(shape s, u32 unit, bool is_second)
{
    u32 part = IS_SPLIT ? unit / s.part_units : 0, first = 0;
    unit -= part * s.part_units;
    u32 row = unit / s.units_per_head, column = unit - row * s.units_per_head;
    u32 head = DEALT ? column : row, index = DEALT ? row : column; // the longest tiles of all heads first
    u32 blocks = (s.keys + BN - 1) / BN;
    if (CAUSAL) {
        u32 other = s.tiles - 1 - index, is_same = is_second && other == index; // the middle one of an odd number
        index = is_second ? index : other;
        blocks = is_same ? 0 : min(blocks, (index * BM + BM + s.keys - s.queries + BN - 1) / BN);
    }
    if (IS_SPLIT) {
        u32 size = (blocks + s.parts - 1) / s.parts;
        first = min(part * size, blocks), blocks = min(size, blocks - first);
    }
    return (query_tile){head, index * BM, blocks, part, first};
}

typedef struct cursor {
    u32 unit, second; // second: the other tile of a pair; DEALT: units go to all blocks and back, second: back
} cursor;

static query_tile next_tile(cursor *c, shape s) // the first one from c on; c goes behind it
{
    query_tile t = {0, 0, 0};
    while (t.blocks == 0 && c->unit < s.units) {
        t = tile_at(s, c->unit, !DEALT && c->second != 0);
        if (DEALT)
            c->unit += (c->second ^= 1) ? 2 * (grid_dim_x() - block_x()) - 1 : 2 * block_x() + 1;
        else if (!HAS_PAIRS(s) || (c->second ^= 1) == 0)
            c->unit += grid_dim_x();
    }
    return t;
}

// How many of a tile's blocks of keys the queries of this warpgroup see; 0: it has no queries.
static u32 blocks_seen(shape s, query_tile t)
{
    u32 row = t.row + warp() / 4 * 64;
    if (row >= s.queries)
        return 0;
    return CAUSAL && !IS_SPLIT ? min(t.blocks, (row + 64 + s.keys - s.queries + BN - 1) / BN) : t.blocks;
}

#    define FIRST(...) ((cursor){block_x(), 0})
#    define LOAD_KEYS(tile, map, t, block, at, full) LOAD_ROWS(tile, map, ((t).first + (block)) * BN, at, full)

static u32 end_of(shape s, query_tile t) // of the queries
{
    return s.queries;
}
#endif
#include "forward_mask.h" // which keys a query sees; tiles with a mask
