// out = softmax(scale * Q K^T) V for Hopper (sm_90a), and the logarithm of each row's sum.
//
// A block works on 64 * WGS queries of one head at a time. One thread keeps two stages of K and two
// of V filled through the copy engine; each of WGS warpgroups owns 64 queries. Keys are taken in
// blocks of BN, from the last to the first. The scores of the next block and the product of the
// current block's probabilities with V run on the tensor cores together; the exponentials of the
// next block run while the product is still under way (`consume` is the place to start reading).
//
// Tensors are [head][row][HD], dense; -D TYPE_f16 instead of bf16, -D NO_LSE for out alone. Several
// query heads may share a head of K and V. With CAUSAL the last query sees all keys and each one
// before it one less; a unit of work is two tiles of queries, one from each end of the head, so
// that all units cost the same. With TURNS the warpgroups queue for the tensor cores, which lets
// one compute exponentials while another multiplies. The host (attention.c) makes the tensor maps
// and chooses tiles.
#include <kiln/kernel.h>

tune(HD, 128, 64, 256); // head dimension
tune(BN, 128, 64, 80, 96, 112, 144, 160, 176, 192);
tune(WGS, 2, 3);
tune(CAUSAL, 0, 1);
tune(TURNS, 0, 1);

#if defined(TYPE_f16)
typedef f16 half_t;
#define MULTIPLY wgmma_f16
#define PACK pack_f16
#else
typedef bf16 half_t;
#define MULTIPLY wgmma_bf16
#define PACK pack_bf16
#endif

enum {
    BM = 64 * WGS,
    CHUNKS = HD / 64,          // a tile is stored as chunks of 64 columns: 128 bytes a row
    Q_CHUNK = BM * 128,
    KV_CHUNK = BN * 128,
    Q_BYTES = CHUNKS * Q_CHUNK,
    KV_BYTES = CHUNKS * KV_CHUNK,
    K_AT = Q_BYTES,
    V_AT = K_AT + 2 * KV_BYTES,
    SLAB = 2048,               // 16 rows of a chunk: a warp's way out
    SLABS_AT = V_AT + 2 * KV_BYTES,
    BARRIERS_AT = SLABS_AT + 4 * WGS * SLAB,
    SHARED_BYTES = BARRIERS_AT + 10 * 8,
    THREADS = 128 * WGS + 128
};

_Alignas(1024) shared u8 smem[];

#include "forward_softmax.h"

typedef struct shape {
    u32 queries, keys;   // rows of a head
    u32 tiles;           // of BM queries, per head
    u32 units_per_head;  // tiles; causal: pairs of tiles
    u32 units;           // of all heads
    u32 sharing;         // query heads per head of K and V
    f32 scale;           // times log2(e)
} shape;

// --- barriers. Block of keys number n, counted over all tiles, is in stage n % 2; each use of a
// stage flips the phase of its barriers.

enum { Q_FULL, Q_EMPTY, K_FULL, K_EMPTY = 4, V_FULL = 6, V_EMPTY = 8 };

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

// --- the producer: one thread

static void load(u8 *to, u32 chunk_bytes, const tensor_map *map, u32 row, u32 head, mbarrier *full)
{
    mbarrier_arrive_expect(full, CHUNKS * chunk_bytes);
#pragma unroll
    for (u32 i = 0; i < CHUNKS; i++, to += chunk_bytes)
        tensor_load_3d(to, map, (i32)(i * 64), (i32)row, (i32)head, full);
}

static void load_block(u32 at, u32 full, u32 empty, const tensor_map *map, u32 n, u32 key, u32 head)
{
    wait_empty(empty, n);
    load(smem + at + n % 2 * KV_BYTES, KV_CHUNK, map, key, head, barrier_at(full, n));
}

static void produce(const tensor_map *q, const tensor_map *k, const tensor_map *v, shape s)
{
    u32 n = 0, q_phase = 1;
    for (cursor c = {block_x(), 0}; c.unit < s.units; step(&c)) {
        tile t = tile_at(c, s);
        if (t.blocks == 0)
            continue;
        mbarrier_wait(barrier_at(Q_EMPTY, 0), q_phase);
        q_phase ^= 1;
        load(smem, Q_CHUNK, q, t.row, t.head, barrier_at(Q_FULL, 0));
        u32 head = t.head / s.sharing;
        for (u32 block = t.blocks; block-- > 0; n++) {
            load_block(K_AT, K_FULL, K_EMPTY, k, n, block * BN, head);
            load_block(V_AT, V_FULL, V_EMPTY, v, n, block * BN, head);
        }
    }
}

// --- scores and products

// What a query may not see: keys past the end (in the last block alone), causal: after the query.
static void hide_keys(f32 (*s)[BN / 2], shape p, u32 row, u32 key, bool is_first)
{
    u32 column = key + lane() % 4 * 2;
    if (CAUSAL) {
        u32 own = row + p.keys - p.queries; // what the tile's first query sees last
        if (key + BN > own + warp() / 4 * 64) {
            i32 end = (i32)(own + warp() * 16 + lane() / 4 + 1 - column);
            mask(s, &(i32[2]){end, end + 8});
        }
    } else if (is_first) {
        i32 end = (i32)(p.keys - column);
        mask(s, &(i32[2]){end, end});
    }
}

static void multiply_keys(f32 (*s)[BN / 2], u64 q, u64 k)
{
#pragma unroll
    for (u32 i = 0; i < HD / 16; i++)
        MULTIPLY(*s, wgmma_step(q, i / 4 * Q_CHUNK + i % 4 * 32),
                 wgmma_step(k, i / 4 * KV_CHUNK + i % 4 * 32), i != 0);
    wgmma_commit();
}

static void multiply_values(f32 (*o)[HD / 2], u32 (*p)[BN / 16][4], u64 v, bool accumulate)
{
#pragma unroll
    for (u32 i = 0; i < BN / 16; i++)
        MULTIPLY(*o, (*p)[i], wgmma_step(v, i * 2048), i != 0 || accumulate, wgmma_b_mn);
    wgmma_commit();
}

// --- results

// Through shared memory, in 16-byte granules that are permuted within eight rows: 16 rows per warp.
static void store_rows(half_t *out, f32 (*o)[HD / 2], const f32 (*factor)[2], u32 rows_left)
{
    u8 *slab = smem + SLABS_AT + warp() * SLAB;
    u32 row = lane() / 8, granule = lane() % 8;
    u8 *to = (u8 *)out + row * (HD * 2) + granule * 16;
#pragma unroll
    for (u32 chunk = 0; chunk < CHUNKS; chunk++) {
        warp_sync();
#pragma unroll
        for (u32 u = 0; u < 4; u++) {
            u32 words[4];
#pragma unroll
            for (u32 x = 0; x < 4; x++) {
                u32 i = chunk * 32 + u * 8 + x * 2;
                words[x] = PACK((*o)[i] * (*factor)[x % 2], (*o)[i + 1] * (*factor)[x % 2]);
            }
            stmatrix(slab + lane() % 16 * 128 + ((lane() / 16 + 2 * u) ^ granule) * 16, words);
        }
        warp_sync();
#pragma unroll
        for (u32 x = 0; x < 4; x++) {
            u32 y = x * 4 + row;
            u32x4 part = *(const u32x4 *)(slab + y * 128 + (granule ^ y % 8) * 16);
            if (y < rows_left)
                *(u32x4 *)(to + x * (4 * HD * 2) + chunk * 128) = part;
        }
    }
}

typedef struct result {
    half_t *out;
    f32 *lse; // may be null
} result;

static void store(result to, shape s, tile t, f32 (*o)[HD / 2], softmax *m)
{
    u32 first = t.row + warp() * 16, rows_left = first < s.queries ? s.queries - first : 0;
    u64 place = (u64)t.head * s.queries + first;
    f32 factor[2];
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        u32 row = h * 8 + lane() / 4;
        factor[h] = fast_rcp(m->sum[h]);
        if (to.lse && lane() % 4 == 0 && row < rows_left)
            to.lse[place + row] = (fast_log2(m->sum[h]) + m->scaled[h]) * 0.69314718f;
    }
    store_rows(to.out + place * HD, o, &factor, rows_left);
}

// --- the consumers

static void wait_turn(void)
{
    if (TURNS)
        barrier_sync(warp() / 4 + 1, 256);
}

static void pass_turn(void)
{
    if (TURNS)
        barrier_arrive(warp() / 4 == WGS - 1 ? 1 : warp() / 4 + 2, 256);
}

// How many of a tile's blocks of keys the queries of this warpgroup see; 0: it has no queries.
static u32 blocks_seen(shape s, tile t)
{
    u32 row = t.row + warp() / 4 * 64;
    if (row >= s.queries)
        return 0;
    return CAUSAL ? min(t.blocks, (row + 64 + s.keys - s.queries + BN - 1) / BN) : t.blocks;
}

// Lets a block pass that it does not see. Its warps stay together: one that came two phases late to
// a barrier would take the newer phase for its own.
static void skip_block(u32 n, bool has_turn)
{
    if (has_turn) {
        wait_turn();
        pass_turn();
    }
    wait_full(K_FULL, n);
    wait_full(V_FULL, n);
    barrier_sync(8 + warp() / 4, 128);
    release(K_EMPTY, n);
    release(V_EMPTY, n);
}

static void consume(result to, shape s)
{
    u32 group = warp() / 4;
    u64 q = wgmma_k_major(smem + group * 8192, 128);
    u64 k = wgmma_k_major(smem + K_AT, 128), v = wgmma_mn_major(smem + V_AT, 128, KV_CHUNK);
    u32 next = 0, q_phase = 1;
    if (group == WGS - 1)
        pass_turn();

    for (cursor c = {block_x(), 0}; c.unit < s.units; step(&c)) {
        tile t = tile_at(c, s);
        if (t.blocks == 0)
            continue;
        u32 n = next, blocks = blocks_seen(s, t);
        next += t.blocks;
        q_phase ^= 1;
        mbarrier_wait(barrier_at(Q_FULL, 0), q_phase);
        for (; n != next - blocks; n++) // a tile has a turn for each block but one
            skip_block(n, n + 1 != next);
        if (blocks == 0) {
            release(Q_EMPTY, 0);
            continue;
        }
        f32 scores[BN / 2], o[HD / 2];
        u32 p[BN / 16][4];
        softmax m;

        wait_full(K_FULL, n);
        wgmma_fence();
        multiply_keys(&scores, q, wgmma_step(k, n % 2 * KV_BYTES));
        wgmma_wait(0);
        release(K_EMPTY, n);
        hide_keys(&scores, s, t.row, (blocks - 1) * BN, true);
        exponentiate(&scores, &m, s.scale, true);
        pack(&p, &scores);

        bool has_output = false;
        for (u32 block = blocks - 1; block-- > 0; n++) { // its scores, the product of the last one
            wait_full(K_FULL, n + 1);
            wait_full(V_FULL, n);
            wait_turn();
            wgmma_fence();
            multiply_keys(&scores, q, wgmma_step(k, (n + 1) % 2 * KV_BYTES));
            multiply_values(&o, &p, wgmma_step(v, n % 2 * KV_BYTES), has_output);
            pass_turn();
            wgmma_wait(1);
            release(K_EMPTY, n + 1);
            hide_keys(&scores, s, t.row, block * BN, false);
            exponentiate(&scores, &m, s.scale, false);
            wgmma_wait(0);
            release(V_EMPTY, n);
#pragma unroll
            for (u32 i = 0; i < HD / 2; i++)
                o[i] *= m.shrink[i / 2 % 2];
            pack(&p, &scores);
            has_output = true;
        }

        release(Q_EMPTY, 0);
        wait_full(V_FULL, n);
        wgmma_fence();
        multiply_values(&o, &p, wgmma_step(v, n % 2 * KV_BYTES), has_output);
#pragma unroll
        for (u32 d = 1; d < 4; d *= 2)
#pragma unroll
            for (u32 h = 0; h < 2; h++)
                m.sum[h] += shuffle_xor(m.sum[h], d);
        wgmma_wait(0);
        release(V_EMPTY, n);
        store(to, s, t, &o, &m);
    }
}

kernel block(THREADS) void attention(tensor_map q, tensor_map k, tensor_map v, half_t *out,
#if !defined(NO_LSE)
                                     f32 *lse,
#endif
                                     shape s)
{
    if (thread_x() == 0) {
        mbarrier_init(barrier_at(Q_FULL, 0), 1);
        mbarrier_init(barrier_at(Q_EMPTY, 0), WGS);
#pragma unroll
        for (u32 stage = 0; stage < 2; stage++) {
            mbarrier_init(barrier_at(K_FULL, stage), 1);
            mbarrier_init(barrier_at(K_EMPTY, stage), WGS);
            mbarrier_init(barrier_at(V_FULL, stage), 1);
            mbarrier_init(barrier_at(V_EMPTY, stage), WGS);
        }
        mbarrier_fence_init();
        tensor_map_prefetch(&q);
        tensor_map_prefetch(&k);
        tensor_map_prefetch(&v);
    }
    barrier();
    if (warp() < WGS * 4) {
        registers_more(WGS == 3 ? 160 : 240);
        result to = {.out = out};
#if !defined(NO_LSE)
        to.lse = lse;
#endif
        consume(to, s);
    } else {
        registers_less(WGS == 3 ? 32 : 24);
        if (thread_x() == WGS * 128)
            produce(&q, &k, &v, s);
    }
}
