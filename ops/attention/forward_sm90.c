// out = softmax(scale * Q K^T) V for Hopper (sm_90a), and the logarithm of each row's sum.
//
// A block works on 64 * WGS queries of one head at a time. One producer thread keeps two stages of K and two of V
// filled through the copy engine; each of WGS consumer warpgroups owns 64 queries. Keys come in blocks of BN, from
// the last to the first. The scores of the next block and the product of the current block's probabilities with V
// run on the tensor cores together; the exponentials of one warpgroup run under the products of the others. Start
// reading at `consume`.
//
// Tensors are dense, or STRIDED (hopper.h). -D TYPE_f16 instead of bf16, -D NO_LSE for out alone. Several query
// heads may share a head of K and V. With CAUSAL the last query sees all keys and each one before it one less; a
// unit of work is two tiles of queries, one from each end of the head, or all tiles are dealt out (DEALT).
#include <kiln/overlap.h>
#include "forward_tiles.h"
#include "forward_softmax.h" // of its tiles

tune(TURNS, 0, 1);    // the warpgroups take turns at the tensor cores
tune(LATE, 0, 1);     // a warpgroup waits for its product after the exponentials, not before
tune(AHEAD, 0, 1, 2); // how a tile's last product overlaps with the next tile: consume_next_tile

enum { OVERLAPS = WGS == 1 }; // the tiles of short calls: they begin under the kernel before

// --- the producer: one thread
static void produce(const tensor_map *q, const tensor_map *k, const tensor_map *v, shape s, cursor c)
{
    u32 n = 0; // blocks of keys so far
    for (u32 tile = 0;; tile++) {
        query_tile t = next_tile(&c, s);
        if (t.blocks == 0)
            break;
        ring_slot to = ring_at(&smem->q_ring, tile, RING_PRODUCER);
        ring_acquire(&smem->q_ring, to, sizeof(q_tile));
        LOAD_ROWS(&smem->q[to.stage], q, t.row, place_of(s.q, t.head, s.heads),
                  ring_full(&smem->q_ring, to));
        u32 head = t.head / s.sharing;
        place of_k = place_of(s.k, head, s.kv_heads), of_v = place_of(s.v, head, s.kv_heads);
        for (u32 block = t.blocks; block-- > 0; n++) {
            to = ring_at(&smem->k_ring, n, RING_PRODUCER);
            ring_acquire(&smem->k_ring, to, sizeof(kv_tile));
            LOAD_KEYS(&smem->k[to.stage], k, t, block, of_k, ring_full(&smem->k_ring, to));
            ring_acquire(&smem->v_ring, to, sizeof(kv_tile));
            LOAD_KEYS(&smem->v[to.stage], v, t, block, of_v, ring_full(&smem->v_ring, to));
        }
    }
}

// --- the consumers: a warpgroup each
typedef struct consumer {
    shape s;
    out_t *out;
    f32 *lse; // may be null
    u32 group, next_group;
    mma_operand q0, q;   // queries in the first stage, and those of the present tile
    mma_operand k, v;    // in the first stage
    u32 n, tile;         // the block of keys and the tile of queries, counted from the start
} consumer;

typedef struct registers { // of a tile
    scores s;              // of the newest block
    u32 p[BN / 16][4];     // probabilities of a block
    f32 out[HD / 2];
    softmax m;
} registers;

static void wait_turn(consumer *c)
{
    if (TURNS)
        barrier_sync(c->group + 1, 256);
}

static void pass_turn(consumer *c)
{
    if (TURNS)
        barrier_arrive(c->next_group + 1, 256);
}

static void wait_queries(consumer *c)
{
    ring_wait_step(&smem->q_ring, c->tile);
    c->q = operand_move(c->q0, c->tile % Q_STAGES * (u32)sizeof(q_tile));
}

// scores = Q K^T of block n
static void multiply_keys(consumer *c, scores *s, u32 n)
{
    mma_operand k = operand_move(c->k, n % 2 * (u32)sizeof(kv_tile));
    tile_mma(MMA, *s, c->q, k, HD / 16, false);
    wgmma_commit();
}

// out += P V of block n
static void multiply_values(consumer *c, registers *r, u32 n, bool adds)
{
    mma_operand v = operand_move(c->v, n % 2 * (u32)sizeof(kv_tile));
    tile_mma_words(MMA_B_MN, r->out, r->p, v, BN / 16, adds);
    wgmma_commit();
}

static void pack(registers *r)
{
#pragma unroll
    for (u32 i = 0; i < BN / 4; i++)
        r->p[i / 4][i % 4] = PACK(r->s[2 * i], r->s[2 * i + 1]);
}

// The first block of a tile: its scores become probabilities.
static void start_softmax(consumer *c, registers *r, query_tile t, u32 blocks, softmax *m)
{
    mask_scores(&r->s, c->s, t, blocks - 1, true);
    update_max(&r->s, m, c->s.scale, true);
    exponentiate(&r->s, m, c->s.scale, true);
}

// Stores the results: 16 rows per warp.
static void store(consumer *c, query_tile t, registers *r, softmax *m)
{
    shape s = c->s;
    u32 first = t.row + warp() * 16, end = end_of(s, t), rows_left = first < end ? end - first : 0;
    u64 share = ((u64)t.part * (s.part_units / s.tiles) + t.head) * s.queries + first; // SPLIT
    u64 lse_at = IS_SPLIT ? share : row_at(s.lse, t.head, s.heads, first, s.queries, 1);
    u64 out_at = IS_SPLIT ? share * HD : row_at(s.out, t.head, s.heads, first, s.queries, HD);
    f32 factor[2];
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        u32 row = h * 8 + lane() / 4;
        factor[h] = (MASKED || IS_SPLIT) && m->sum[h] == 0.0f ? 0.0f : fast_rcp(m->sum[h]);
        if (c->lse && lane() % 4 == 0 && row < rows_left)
            c->lse[lse_at + row * (STRIDED && !IS_SPLIT ? s.lse.row : 1)] =
                (fast_log2(m->sum[h]) + m->max[h]) * 0.69314718f;
    }
    STORE_ROWS(&smem->staging[warp()], c->out + out_at, s.out, &r->out, factor[0], factor[1],
               rows_left);
}

// A block of keys that none of this warpgroup's queries sees. Its warps stay together: one that came
// two phases late to a barrier would take the newer phase for its own.
static void skip_block(consumer *c, bool has_turn)
{
    if (has_turn) {
        wait_turn(c);
        pass_turn(c);
    }
    ring_wait_step(&smem->k_ring, c->n);
    ring_wait_step(&smem->v_ring, c->n);
    barrier_sync(8 + warp() / 4, 128);
    ring_release_step(&smem->k_ring, c->n);
    ring_release_step(&smem->v_ring, c->n);
    c->n++;
}

// The first block of a tile after a gap.
static void consume_first_block(consumer *c, registers *r, query_tile t, u32 blocks)
{
    ring_wait_step(&smem->k_ring, c->n);
    wgmma_fence();
    multiply_keys(c, &r->s, c->n);
    wgmma_wait(0);
    ring_release_step(&smem->k_ring, c->n);
    start_softmax(c, r, t, blocks, &r->m);
    if (LATE)
        ring_wait_step(&smem->v_ring, c->n);
    pack(r);
}

// The scores of one more block, together with the product of the block before it. V of a block is
// waited for before its product or, LATE, after the exponentials before it: ptxas moves a wgmma_wait
// up to the last branch, and so not across this one.
static void consume_block(consumer *c, registers *r, query_tile t, u32 block, bool has_output)
{
    u32 n = c->n++;
    ring_wait_step(&smem->k_ring, n + 1);
    if (!LATE)
        ring_wait_step(&smem->v_ring, n);
    wait_turn(c);
    wgmma_fence();
    multiply_keys(c, &r->s, n + 1);
    multiply_values(c, r, n, has_output);
    pass_turn(c);
    wgmma_wait(1);
    ring_release_step(&smem->k_ring, n + 1);
    mask_scores(&r->s, c->s, t, block, false);
    bool needs_rescale = update_max(&r->s, &r->m, c->s.scale, false);
    if (LATE) {
        exponentiate(&r->s, &r->m, c->s.scale, false);
        ring_wait_step(&smem->v_ring, n + 1);
        if (r->m.sum[0] + r->m.sum[1] < 0.0f) // never: keeps the exponentials before it
            ring_wait_step(&smem->v_ring, n + 1);
    }
    wgmma_wait(0);
    ring_release_step(&smem->v_ring, n);
    if (!LATE)
        exponentiate(&r->s, &r->m, c->s.scale, false);
    pack(r);
    if (needs_rescale) { // last: ptxas mixes only what no branch divides
#pragma unroll
        for (u32 i = 0; i < HD / 2; i++)
            r->out[i] *= r->m.rescale[i / 2 % 2];
    }
}

// The last product of tile t together with the first scores of the tile after it, whose exponentials
// run under the product (AHEAD 1).
static void overlap_product(consumer *c, registers *r, query_tile t, query_tile next, bool has_output)
{
    u32 n = c->n++;
    softmax fresh;
    ring_wait_step(&smem->k_ring, n + 1);
    wait_queries(c);
    if (!LATE)
        ring_wait_step(&smem->v_ring, n);
    wgmma_fence();
    multiply_keys(c, &r->s, n + 1);
    multiply_values(c, r, n, has_output);
    wgmma_wait(1);
    ring_release_step(&smem->k_ring, n + 1);
    start_softmax(c, r, next, next.blocks, &fresh);
    if (LATE)
        ring_wait_step(&smem->v_ring, n + 1);
    acc_lanes_sum(&r->m.sum);
    wgmma_wait(0);
    ring_release_step(&smem->v_ring, n);
    store(c, t, r, &r->m);
    pack(r);
    r->m = fresh;
}

// The last product of tile t before the first scores of the tile after it; the results are stored
// under the scores (AHEAD 2).
static void overlap_store(consumer *c, registers *r, query_tile t, query_tile next, bool has_output)
{
    u32 n = c->n++;
    softmax fresh;
    if (!LATE)
        ring_wait_step(&smem->v_ring, n);
    wgmma_fence();
    multiply_values(c, r, n, has_output);
    ring_wait_step(&smem->k_ring, n + 1);
    wait_queries(c);
    wgmma_fence();
    multiply_keys(c, &r->s, n + 1);
    acc_lanes_sum(&r->m.sum);
    wgmma_wait(1);
    ring_release_step(&smem->v_ring, n);
    store(c, t, r, &r->m);
    if (LATE)
        ring_wait_step(&smem->v_ring, n + 1);
    wgmma_wait(0);
    ring_release_step(&smem->k_ring, n + 1);
    start_softmax(c, r, next, next.blocks, &fresh);
    pack(r);
    r->m = fresh;
}

static void finish_tile(consumer *c, registers *r, query_tile t, bool has_output)
{
    u32 n = c->n++;
    if (!LATE)
        ring_wait_step(&smem->v_ring, n);
    wgmma_fence();
    multiply_values(c, r, n, has_output);
    acc_lanes_sum(&r->m.sum);
    wgmma_wait(0);
    ring_release_step(&smem->v_ring, n);
    store(c, t, r, &r->m);
}

static void consume(consumer c, cursor at)
{
    query_tile t = next_tile(&at, c.s);
    while (t.blocks != 0) {
        u32 blocks = blocks_seen(c.s, t);
        wait_queries(&c);
        for (u32 i = t.blocks; i != blocks; i--) // a tile has a turn for each block but one
            skip_block(&c, i != 1);
        if (blocks == 0) {
            ring_release_step(&smem->q_ring, c.tile);
            c.tile++;
            t = next_tile(&at, c.s);
            continue;
        }
        registers r;
        consume_first_block(&c, &r, t, blocks);
        bool has_output = false;
        query_tile next;
        for (;;) { // tiles that follow each other without a gap
            for (u32 block = blocks - 1; block-- > 0; has_output = true)
                consume_block(&c, &r, t, block, has_output);
            ring_release_step(&smem->q_ring, c.tile);
            c.tile++;
            next = next_tile(&at, c.s);
            u32 next_blocks = next.blocks == 0 ? 0 : blocks_seen(c.s, next);
            if (AHEAD == 0 || next_blocks == 0 || next_blocks != next.blocks)
                break;
            if (AHEAD == 1)
                overlap_product(&c, &r, t, next, has_output);
            else
                overlap_store(&c, &r, t, next, has_output);
            t = next;
            blocks = next_blocks;
            has_output = false;
        }
        finish_tile(&c, &r, t, has_output);
        t = next;
    }
}

kernel block(THREADS) void attention(tensor_map q, tensor_map k, tensor_map v, out_t *out,
#if !defined(NO_LSE)
                                     f32 *lse,
#endif
                                     shape s MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m))
{
    if (thread_x() == 0) {
        ring_init(&smem->q_ring, WGS);
        ring_init(&smem->k_ring, WGS);
        ring_init(&smem->v_ring, WGS);
        mbarrier_fence_init();
        tensor_map_prefetch(&q);
        tensor_map_prefetch(&k);
        tensor_map_prefetch(&v);
    }
    if (OVERLAPS)
        kernel_begin();
    barrier();
    if (warp() < WGS * 4) {
        if (WGS > 1) // else there are enough for all
            registers_more(WGS == 4 ? 112 : WGS == 3 ? 160 : 240);
        u32 group = warp() / 4;
        consumer c = {.s = s,
                      .out = out,
                      .group = group,
                      .next_group = group == WGS - 1 ? 0 : group + 1,
                      .q0 = tile_operand_block(&smem->q[0], group),
                      .k = tile_operand(&smem->k[0]),
                      .v = tile_operand_transposed(&smem->v[0])};
#if !defined(NO_LSE)
        c.lse = lse;
#endif
        if (group == WGS - 1)
            pass_turn(&c);
        consume(c, FIRST(q_offsets, k_offsets, slopes, bias, m));
    } else {
        if (WGS > 1)
            registers_less(WGS == 3 ? 32 : 24);
        if (thread_x() == WGS * 128)
            produce(&q, &k, &v, s, FIRST(q_offsets, k_offsets, slopes, bias, m));
    }
}
