// out = softmax(scale * Q K^T) V for Hopper (sm_90a), and the logarithm of each row's sum.
//
// A block works on 64 * WGS queries of one head at a time. One thread keeps two stages of K and two
// of V filled through the copy engine; each of WGS warpgroups owns 64 queries. Keys are taken in
// blocks of BN, from the last to the first. The scores of the next block and the product of the
// current block's probabilities with V run on the tensor cores together; the exponentials of one
// warpgroup run under the products of the others (`consume` is the place to start reading).
//
// Tensors are [head][row][HD], dense; with -D STRIDED [batch][head][row][HD] with strides. -D
// TYPE_f16 instead of bf16, -D NO_LSE for out alone. Several query heads may share a head of K and
// V. With CAUSAL the last query sees all keys and each one
// before it one less; a unit of work is two tiles of queries, one from each end of the head, so
// that all units cost the same. The host (attention.c) makes the tensor maps and chooses tiles.
#include "forward_tiles.h"

#include "forward_softmax.h" // of its tiles

tune(TURNS, 0, 1);    // the warpgroups queue for the tensor cores
tune(LATE, 0, 1);     // a warpgroup waits for its product after the exponentials, not before
tune(AHEAD, 0, 1, 2); // where a tile's last product meets the next tile: cross_over

// --- the producer: one thread

static void load(u8 *to, u32 chunk_bytes, const tensor_map *map, u32 row, place at, mbarrier *full)
{
    mbarrier_arrive_expect(full, CHUNKS * chunk_bytes);
#pragma unroll
    for (u32 i = 0; i < CHUNKS; i++, to += chunk_bytes)
        LOAD_ROWS(to, map, (i32)(i * 64), (i32)row, at, full);
}

static void load_block(u32 to, u32 full, u32 empty, const tensor_map *map, u32 n, u32 key, place at)
{
    wait_empty(empty, n);
    load(smem + to + n % 2 * KV_BYTES, KV_CHUNK, map, key, at, barrier_at(full, n));
}

static void produce(const tensor_map *q, const tensor_map *k, const tensor_map *v, shape s)
{
    u32 n = 0;
    cursor c = {block_x(), 0};
    for (u32 number = 0;; number++) {
        tile t = next_tile(&c, s);
        if (t.blocks == 0)
            break;
        wait_q(Q_EMPTY, number, 1);
        load(smem + number % Q_STAGES * Q_BYTES, Q_CHUNK, q, t.row, PLACE(s, q, t.head, s.heads),
             barrier_at(Q_FULL, number % Q_STAGES));
        u32 head = t.head / s.sharing;
        place of_k = PLACE(s, k, head, s.kv_heads), of_v = PLACE(s, v, head, s.kv_heads);
        for (u32 block = t.blocks; block-- > 0; n++) {
            load_block(K_AT, K_FULL, K_EMPTY, k, n, block * BN, of_k);
            load_block(V_AT, V_FULL, V_EMPTY, v, n, block * BN, of_v);
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
static void store_rows(half_t *out, pitch_t pitch, f32 (*o)[HD / 2], const f32 (*factor)[2],
                       u32 rows_left)
{
    u8 *slab = smem + SLABS_AT + warp() * SLAB;
    u32 row = lane() / 8, granule = lane() % 8;
    u8 *to = (u8 *)out + row * (pitch * 2) + granule * 16;
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
                *(u32x4 *)(to + x * 4 * (pitch * 2) + chunk * 128) = part;
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
    u64 lse_at = ROW_AT(s, lse, (u64)t.head, s.heads, first, s.queries, 1);
    u64 out_at = ROW_AT(s, out, (u64)t.head, s.heads, first, s.queries, HD);
    f32 factor[2];
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        u32 row = h * 8 + lane() / 4;
        factor[h] = fast_rcp(m->sum[h]);
        if (to.lse && lane() % 4 == 0 && row < rows_left)
            to.lse[lse_at + row * PITCH(s, lse, 1)] =
                (fast_log2(m->sum[h]) + m->top[h]) * 0.69314718f;
    }
    store_rows(to.out + out_at, PITCH(s, out, HD), o, &factor, rows_left);
}

// --- the consumers

static void wait_turn(u32 group)
{
    if (TURNS)
        barrier_sync(group + 1, 256);
}

static void pass_turn(u32 next)
{
    if (TURNS)
        barrier_arrive(next + 1, 256);
}

// Lets a block pass that it does not see. Its warps stay together: one that came two phases late to
// a barrier would take the newer phase for its own.
static void skip_block(u32 n, u32 group, u32 next_group, bool has_turn)
{
    if (has_turn) {
        wait_turn(group);
        pass_turn(next_group);
    }
    wait_full(K_FULL, n);
    wait_full(V_FULL, n);
    barrier_sync(8 + warp() / 4, 128);
    release(K_EMPTY, n);
    release(V_EMPTY, n);
}

static void add_lanes(softmax *m) // a row's sum is in four lanes
{
#pragma unroll
    for (u32 d = 1; d < 4; d *= 2)
#pragma unroll
        for (u32 h = 0; h < 2; h++)
            m->sum[h] += shuffle_xor(m->sum[h], d);
}

// What a warpgroup multiplies: its queries of the present tile, the stages of K and V.
typedef struct operands {
    u64 q, k, v;
} operands;

static u64 keys_at(operands t, u32 n)
{
    return wgmma_step(t.k, n % 2 * KV_BYTES);
}

static u64 values_at(operands t, u32 n)
{
    return wgmma_step(t.v, n % 2 * KV_BYTES);
}

// V of block n is waited for before its product or, LATE, after the exponentials before it: ptxas
// moves a wgmma_wait up to the last branch, and so not across this one.
static void wait_values(u32 n, bool is_here)
{
    if (is_here)
        wait_full(V_FULL, n);
}

// The first scores of the next tile, together with the last product of this one (AHEAD 1: the
// exponentials run under the product) or behind it (2: the results are stored under the scores).
static void cross_over(result to, shape s, tile t, u32 next_row, u32 next_blocks, operands at,
                       u32 n, u32 number, f32 (*scores)[BN / 2], f32 (*o)[HD / 2],
                       u32 (*p)[BN / 16][4], softmax *m, softmax *fresh, bool has_output)
{
    if (AHEAD == 1) {
        wait_full(K_FULL, n + 1);
        wait_q(Q_FULL, number, 0);
        wait_values(n, !LATE);
        wgmma_fence();
        multiply_keys(scores, at.q, keys_at(at, n + 1));
        multiply_values(o, p, values_at(at, n), has_output);
        wgmma_wait(1);
        release(K_EMPTY, n + 1);
        hide_keys(scores, s, next_row, (next_blocks - 1) * BN, true);
        find_top(scores, fresh, s.scale, true);
        exponentiate(scores, fresh, s.scale, true);
        wait_values(n + 1, LATE);
        add_lanes(m);
        wgmma_wait(0);
        release(V_EMPTY, n);
        store(to, s, t, o, m);
    } else {
        wait_values(n, !LATE);
        wgmma_fence();
        multiply_values(o, p, values_at(at, n), has_output);
        wait_full(K_FULL, n + 1);
        wait_q(Q_FULL, number, 0);
        wgmma_fence();
        multiply_keys(scores, at.q, keys_at(at, n + 1));
        add_lanes(m);
        wgmma_wait(1);
        release(V_EMPTY, n);
        store(to, s, t, o, m);
        wait_values(n + 1, LATE);
        wgmma_wait(0);
        release(K_EMPTY, n + 1);
        hide_keys(scores, s, next_row, (next_blocks - 1) * BN, true);
        find_top(scores, fresh, s.scale, true);
        exponentiate(scores, fresh, s.scale, true);
    }
    pack(p, scores);
}

static void consume(result to, shape s)
{
    u32 group = warp() / 4, next_group = group == WGS - 1 ? 0 : group + 1;
    u64 q = wgmma_k_major(smem + group * 8192, 128);
    operands at = {.k = wgmma_k_major(smem + K_AT, 128),
                   .v = wgmma_mn_major(smem + V_AT, 128, KV_CHUNK)};
    u32 n = 0, number = 0; // of the block of keys, of the tile
    if (group == WGS - 1)
        pass_turn(next_group);

    cursor c = {block_x(), 0};
    tile t = next_tile(&c, s);
    while (t.blocks != 0) {
        u32 blocks = blocks_seen(s, t);
        wait_q(Q_FULL, number, 0);
        for (u32 i = t.blocks; i != blocks; i--, n++) // a tile has a turn for each block but one
            skip_block(n, group, next_group, i != 1);
        if (blocks == 0) {
            release_q(number++);
            t = next_tile(&c, s);
            continue;
        }
        f32 scores[BN / 2], o[HD / 2];
        u32 p[BN / 16][4];
        softmax m;

        at.q = wgmma_step(q, number % Q_STAGES * Q_BYTES);
        wait_full(K_FULL, n);
        wgmma_fence();
        multiply_keys(&scores, at.q, keys_at(at, n));
        wgmma_wait(0);
        release(K_EMPTY, n);
        hide_keys(&scores, s, t.row, (blocks - 1) * BN, true);
        find_top(&scores, &m, s.scale, true);
        exponentiate(&scores, &m, s.scale, true);
        wait_values(n, LATE);
        pack(&p, &scores);

        bool has_output = false;
        tile next;
        for (;;) { // tiles that follow each other without a gap
            for (u32 block = blocks - 1; block-- > 0; n++) { // its scores, the last one's product
                wait_full(K_FULL, n + 1);
                wait_values(n, !LATE);
                wait_turn(group);
                wgmma_fence();
                multiply_keys(&scores, at.q, keys_at(at, n + 1));
                multiply_values(&o, &p, values_at(at, n), has_output);
                pass_turn(next_group);
                wgmma_wait(1);
                release(K_EMPTY, n + 1);
                hide_keys(&scores, s, t.row, block * BN, false);
                bool is_larger = find_top(&scores, &m, s.scale, false);
                if (LATE) {
                    exponentiate(&scores, &m, s.scale, false);
                    wait_values(n + 1, true);
                    if (m.sum[0] + m.sum[1] < 0.0f) // never: keeps the exponentials before it
                        wait_values(n + 1, true);
                }
                wgmma_wait(0);
                release(V_EMPTY, n);
                if (!LATE)
                    exponentiate(&scores, &m, s.scale, false);
                pack(&p, &scores);
                if (is_larger) { // last: ptxas mixes only what no branch divides
#pragma unroll
                    for (u32 i = 0; i < HD / 2; i++)
                        o[i] *= m.shrink[i / 2 % 2];
                }
                has_output = true;
            }
            release_q(number++);
            next = next_tile(&c, s);
            u32 next_blocks = next.blocks == 0 ? 0 : blocks_seen(s, next);
            if (AHEAD == 0 || next_blocks == 0 || next_blocks != next.blocks)
                break;
            softmax fresh;
            at.q = wgmma_step(q, number % Q_STAGES * Q_BYTES);
            cross_over(to, s, t, next.row, next_blocks, at, n, number, &scores, &o, &p, &m, &fresh,
                       has_output);
            m = fresh;
            t = next;
            blocks = next_blocks;
            has_output = false;
            n++;
        }
        wait_values(n, !LATE);
        wgmma_fence();
        multiply_values(&o, &p, values_at(at, n), has_output);
        add_lanes(&m);
        wgmma_wait(0);
        release(V_EMPTY, n++);
        store(to, s, t, &o, &m);
        t = next;
    }
}

kernel block(THREADS) void attention(tensor_map q, tensor_map k, tensor_map v, half_t *out,
#if !defined(NO_LSE)
                                     f32 *lse,
#endif
                                     shape s)
{
    if (thread_x() == 0) {
#pragma unroll
        for (u32 stage = 0; stage < 2; stage++) {
            mbarrier_init(barrier_at(Q_FULL, stage), 1);
            mbarrier_init(barrier_at(Q_EMPTY, stage), WGS);
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
        registers_more(WGS == 4 ? 112 : WGS == 3 ? 160 : 240);
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
