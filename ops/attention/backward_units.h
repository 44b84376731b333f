// What attention backward for Hopper is made of, whatever the head dimension (backward_sm90.c, backward_wide.c): the
// problem, units of work, P from scores, and parts of dK and dV.
//
// A unit is KEYS keys of one head of K and V, for which the queries that see them pass by in blocks of M. A dense tensor
// has as many keys as queries and no shared heads. With STRIDED (hopper.h) K and V may have another length than Q, and
// several query heads may share a head of K and V. Causal: key blocks i and last - i after each other, so that units
// are of the same size, unless they are few (per_head is key_blocks then). -D SPLIT: the query blocks of a unit are
// divided among `parts` of them, and each leaves its share of dK and dV as f32; backward_ends.c adds them.
#include <kiln/overlap.h>

#include "hopper.h"

KERNEL_OVERLAPS
tune(CAUSAL, 0, 1);

enum {
    M = BACKWARD_QUERIES(HD), // of a block
    KEYS = BACKWARD_KEYS(HD), // of a unit
    SUM = SUM_BLOCK(HD),      // numbers of a block in the sum of dQ
    PARTS = M / 64            // scores are computed 64 queries at a time
};

typedef struct problem {
    u32 queries, query_blocks, key_blocks; // of a head
    u32 units, per_head;                   // units of work: of all heads of K and V, of one
    f32 c, scale;                          // c: scale * log2(e)
    u32 keys, heads, kv_heads, sharing;    // sharing: heads per head of K and V
    u32 parts, all_heads;                  // SPLIT: of the query blocks of a key; heads of K and V of all batches
    steps q, k, v, dout;
    strides dk, dv;
} problem;

typedef struct row_values { // of a block of queries
    f32 minus_lse[M];       // times log2(e)
    f32 d[M];               // sum of dO * O over the row
} row_values;

typedef f32 scores[PARTS][32]; // 64 x 64 of them are 32 registers
typedef u32 packed[M / 16][4];

#define MMA_AB_MN(d, a, b, adds) MMA(d, a, b, adds, wgmma_a_mn | wgmma_b_mn) // both are transposed

// --- units of work

#if !defined(MASK)
typedef struct work { // a key block of a head and the query blocks that see it
    u32 unit, half, head, keys, first, count;
    u32 part, begin; // SPLIT: its number, and of all these blocks the first one
} work;

static u32 before_first(problem p) // keys before the first query
{
    return STRIDED ? p.keys - p.queries : 0;
}

static work work_at(problem p, u32 unit, u32 half)
{
    u32 head = unit / p.per_head, keys = unit - head * p.per_head, first = 0, part = 0, begin = 0;
    if (IS_SPLIT) {
        part = head / p.all_heads;
        head -= part * p.all_heads;
    }
    if (CAUSAL) {
        keys = half ? p.key_blocks - 1 - keys : keys;
        first = keys * (KEYS / M);
        if (STRIDED)
            first = keys * KEYS > before_first(p) ? (keys * KEYS - before_first(p)) / M : 0;
    }
    u32 count = (p.query_blocks - first) * (STRIDED ? p.sharing : 1);
    if (IS_SPLIT) {
        u32 size = (count + p.parts - 1) / p.parts;
        begin = min(part * size, count);
        count = min(size, count - begin);
    }
    return (work){unit, half, head, keys, first, count, part, begin};
}

static work next_work(problem p, work w)
{
    bool has_twin = CAUSAL && w.half == 0 && p.per_head != p.key_blocks && w.keys * 2 + 1 != p.key_blocks;
    return work_at(p, has_twin ? w.unit : w.unit + grid_dim_x(), has_twin);
}

typedef struct query_block {
    u32 head, block;
} query_block;

// Query block number i of a unit: of one head after the other.
static query_block query_block_at(problem p, work w, u32 i)
{
    if (!STRIDED)
        return (query_block){w.head, w.first + i};
    u32 at = i + (IS_SPLIT ? w.begin : 0), per_head = p.query_blocks - w.first, other = at / per_head;
    return (query_block){w.head * p.sharing + other, w.first + at - other * per_head};
}

#    define key_at(w)                            ((w).keys * KEYS)
#    define SEED(...)                            ((work){0})
#    define first_work(p, seed)                  work_at(p, block_x(), 0)
#    define LOAD_QUERIES(t, map, w, b, at, full) LOAD_ROWS(t, map, (b).block * M, at, full)
#    define LOAD_KEYS(t, map, w, at, full)       LOAD_ROWS(t, map, (w).keys * KEYS, at, full)

// Blocks between the last one of a head and the first one of the next.
static u32 blocks_between(problem p, work w)
{
    return w.first;
}

static u32 keys_end(problem p, work w)
{
    return STRIDED ? p.keys : p.queries;
}
#endif
#include "backward_mask.h" // which queries see a key; units with a mask

// The place of a block in the sum of dQ.
static f32 *sum_at(problem p, f32 *sums, query_block b)
{
    return sums + (u64)(b.head * p.query_blocks + b.block) * SUM;
}

// --- P: keys are the rows of the accumulators, queries the columns

static void pack_p(packed *p, scores *s, u32 k)
{
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        (*p)[k][i] = PACK((*s)[k / 4][k % 4 * 8 + i * 2], (*s)[k / 4][k % 4 * 8 + i * 2 + 1]);
}

static f32x2 pair_at(const f32 *values, u32 j) // of this lane's columns of 8 * j
{
    return *(const f32x2 *)(values + lane() % 4 * 2 + j * 8);
}

// S becomes P. With M 128 packing waits for make_ds: fewer registers are alive.
static void make_p(scores *s, packed *p, f32 c, const row_values *rows)
{
#pragma unroll
    for (u32 j = 0; j < M / 8; j++) {
        f32x2 minus_lse = pair_at(rows->minus_lse, j);
#pragma unroll
        for (u32 r = 0; r < 4; r++) {
            f32 *at = &(*s)[j / 8][j % 8 * 4 + r];
            *at = fast_exp2(fma(*at, c, r % 2 ? minus_lse.y : minus_lse.x));
        }
        if (M == 64 && j % 2)
            pack_p(p, s, j / 2);
    }
}

// --- results

// Stores a warp's 16 rows of a unit's dK or dV; SPLIT: its share, [parts][heads][keys][HD]. Empty: there was nothing to
// add up.
static void store_keys(void *staging, out_t *to, strides by, const f32 (*acc)[HD / 2], f32 factor, problem p, work w,
                       bool is_empty)
{
    u32 length = keys_end(p, w), row = key_at(w) + warp() % (KEYS / 16) * 16;
    u32 rows_left = row < length ? length - row : 0;
#if defined(SPLIT)
    to += ((u64)(w.part * p.all_heads + w.head) * length + row) * HD;
    store_share(to, acc, factor, factor, rows_left, is_empty);
#else
    to += row_at(by, w.head, p.kv_heads, row, length, HD);
    store_rows(staging, to, by, acc, factor, factor, rows_left);
#endif
}
