// Attention backward for Hopper (sm_90a): dK, dV and the sum of dQ from Q, K, V, dO and the row
// values that backward_ends.c makes before; it turns the sum into dQ after. -D TYPE_f16 for f16.
//
// A dense tensor has as many keys as queries and no shared heads. With STRIDED (hopper.h) K and V may
// have another length than Q, and several query heads may share a head of K and V. A unit of work is
// 128 keys of one head of K and V (causal: key blocks i and last - i after each other), for which the
// queries pass by in blocks of M. One producer thread keeps rings of Q and dO filled through the copy
// engine; two consumer warpgroups own 64 keys each and work on transposed scores, so that P^T is the
// register operand of dV += P^T dO. For query block i:
//
//     S = K Q^T, dP = V dO^T                      of block i
//     dK += dS Q                                  of block i - 1, behind them in the tensor queue
//     P = exp2(c S - LSE), dS = P (dP - D)        while dP and dK run
//     dQ = dS^T K of block i - 1 into the registers of S, dV += P dO of block i
//     dS to shared memory, dQ added to global memory while dV runs
//
// dK and dQ come one block late: the exchange of dS between the warpgroups and the exponentials
// hide behind the next scores. Start at `consume`.
#include "backward_tiles.h"

// --- units of work

#if !defined(MASK)
typedef struct work { // a key block of a head and the query blocks that see it
    u32 unit, half, head, keys, first, count;
} work;

static u32 before_first(problem p) // keys before the first query
{
    return STRIDED ? p.keys - p.queries : 0;
}

static work work_at(problem p, u32 unit, u32 half)
{
    u32 head = unit / p.per_head, keys = unit - head * p.per_head, first = 0;
    if (CAUSAL) {
        keys = half ? p.key_blocks - 1 - keys : keys;
        first = keys * (KEYS / M);
        if (STRIDED)
            first = keys * KEYS > before_first(p) ? (keys * KEYS - before_first(p)) / M : 0;
    }
    u32 count = (p.query_blocks - first) * (STRIDED ? p.sharing : 1);
    return (work){unit, half, head, keys, first, count};
}

static work next_work(problem p, work w)
{
    bool has_twin = CAUSAL && w.half == 0 && w.keys * 2 + 1 != p.key_blocks;
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
    u32 per_head = p.query_blocks - w.first, other = i / per_head;
    return (query_block){w.head * p.sharing + other, w.first + i - other * per_head};
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

// --- the producer: one thread

typedef struct sources {
    const tensor_map *q, *k, *v, *o;
    const f32 *rows;
} sources;

static void produce(sources from, problem p, work w)
{
    ring_slot q = {0, 1}, o = {0, 1}, keys = {0, 1};
    for (w = first_work(p, w); w.unit < p.units; w = next_work(p, w)) {
        for (u32 i = 0; i < w.count; i++) {
            query_block b = query_block_at(p, w, i);
            ring_acquire(&smem->q_ring, q, sizeof(q_tile));
            LOAD_QUERIES(&smem->q[q.stage], from.q, w, b, place_of(p.q, b.head, p.heads),
                         ring_full(&smem->q_ring, q));
            if (i == 0) {
                ring_acquire(&smem->k_ring, keys, sizeof(kv_tile));
                LOAD_KEYS(&smem->k, from.k, w, place_of(p.k, w.head, p.kv_heads),
                          ring_full(&smem->k_ring, keys));
            }
            ring_acquire(&smem->o_ring, o, sizeof(q_tile) + sizeof(row_values));
            LOAD_QUERIES(&smem->o[o.stage], from.o, w, b, place_of(p.dout, b.head, p.heads),
                         ring_full(&smem->o_ring, o));
            bulk_load((f32 *)&smem->rows[o.stage],
                      from.rows + (u64)(b.head * p.query_blocks + b.block) * (2 * M),
                      sizeof(row_values), ring_full(&smem->o_ring, o));
            if (i == 0) {
                ring_acquire(&smem->v_ring, keys, sizeof(kv_tile));
                LOAD_KEYS(&smem->v, from.v, w, place_of(p.v, w.head, p.kv_heads),
                          ring_full(&smem->v_ring, keys));
            }
            q = ring_next(&smem->q_ring, q);
            o = ring_next(&smem->o_ring, o);
        }
        keys.phase ^= 1;
    }
}

// --- the consumers: a warpgroup each

typedef struct consumer {
    problem p;
    operands t;
    ring_slot q, o, keys;
    f32 *sums, *sum; // of dQ: all, and of the next block that is done
    half_t *dk, *dv;
    bool is_leader; // releases the stages of its warpgroup; a predicate for the whole main loop
} consumer;
#define RELEASE(c, ring, slot) ((c)->is_leader ? ring_release(ring, slot) : (void)0)

typedef struct registers { // of a unit
    scores s, d;           // S, then P, then dQ; dP, then dS
    packed p;
    f32 dk[HD / 2], dv[HD / 2];
} registers;

// Adds this warp's 4 KB of dQ to the sum, in the order of the registers.
static void add_dq(f32 (*dq)[32], f32 *sum)
{
    f32 *staging = smem->staging[warp()];
    if (lane() == 0)
        bulk_wait_read(0);
    warp_sync();
#pragma unroll
    for (u32 i = 0; i < 8; i++)
        *(f32x4 *)(staging + i * 128 + lane() * 4) =
            (f32x4){(*dq)[i * 4], (*dq)[i * 4 + 1], (*dq)[i * 4 + 2], (*dq)[i * 4 + 3]};
    fence_async();
    warp_sync();
    if (lane() == 0) {
        bulk_add_f32(sum, (const f32 *)staging, 4096);
        bulk_commit();
    }
}

static void store_keys(consumer *c, registers *r, work w)
{
    problem p = c->p;
    u32 length = keys_end(p, w), row = key_at(w) + warp() * 16;
    u32 rows_left = row < length ? length - row : 0;
    u64 dv_at = row_at(p.dv, w.head, p.kv_heads, row, length, HD);
    u64 dk_at = row_at(p.dk, w.head, p.kv_heads, row, length, HD);
    void *staging = smem->staging[warp()];
    if (lane() == 0)
        bulk_wait_read(0);
    store_rows(staging, c->dv + dv_at, p.dv, &r->dv, 1.0f, 1.0f, rows_left);
    store_rows(staging, c->dk + dk_at, p.dk, &r->dk, p.scale, p.scale, rows_left);
}

static void consume_first_block(consumer *c, registers *r, work w)
{
    ring_wait_full(&smem->k_ring, c->keys);
    ring_wait_full(&smem->q_ring, c->q);
    multiply_scores(&r->s, c->t.k, c->t.q, c->q.stage);
    ring_wait_full(&smem->v_ring, c->keys);
    ring_wait_full(&smem->o_ring, c->o);
    multiply_scores(&r->d, c->t.v, c->t.o, c->o.stage);
    c->keys.phase ^= 1;
    wgmma_wait(1);
    mask_scores(&r->s, c->p, w, (query_block){w.head * c->p.sharing, w.first});
    make_p(&r->s, &r->p, c->p.c, &smem->rows[c->o.stage]);
    mbarrier_wait(&smem->ds_ring.empty[c->o.stage], c->o.phase ^ 1);
    wgmma_wait(0);
#pragma unroll
    for (u32 part = 0; part < PARTS; part++) {
        make_ds(&r->d, &r->s, &r->p, part, &smem->rows[c->o.stage]);
        multiply_dv(&r->dv, &r->p, part, &c->t, c->o.stage, false);
        store_ds(&r->d, part, c->o);
    }
}

static void consume_block(consumer *c, registers *r, work w, u32 i)
{
    ring_slot last_q = ring_previous(&smem->q_ring, c->q);
    ring_slot last_o = ring_previous(&smem->o_ring, c->o);
    ring_wait_full(&smem->q_ring, c->q);
    multiply_scores(&r->s, c->t.k, c->t.q, c->q.stage);
    wgmma_wait(1); // dV of the last block: P and dO are free
    ring_wait_full(&smem->o_ring, c->o);
    multiply_scores(&r->d, c->t.v, c->t.o, c->o.stage);
    ring_wait_full(&smem->ds_ring, last_o); // also: all warps have read the row values beside dO
    RELEASE(c, &smem->o_ring, last_o);
    multiply_dk(&r->dk, &c->t, last_o.stage, last_q.stage, i > 1);
    wgmma_wait(2);
    query_block b = query_block_at(c->p, w, i);
    mask_scores(&r->s, c->p, w, b);
    make_p(&r->s, &r->p, c->p.c, &smem->rows[c->o.stage]);
    pin_p(&r->s, c->p.c);
    // before the dV products: a wait between them would serialise them
    mbarrier_wait(&smem->ds_ring.empty[c->o.stage], c->o.phase ^ 1);
    wgmma_wait(1);
#pragma unroll
    for (u32 part = 0; part < PARTS; part++) {
        make_ds(&r->d, &r->s, &r->p, part, &smem->rows[c->o.stage]);
        if (part == 0)
            multiply_dq(&r->s[0], &c->t, last_o.stage);
        multiply_dv(&r->dv, &r->p, part, &c->t, c->o.stage, true);
        store_ds(&r->d, part, c->o);
    }
    wgmma_wait(PARTS + 1); // dK
    RELEASE(c, &smem->q_ring, last_q);
    wgmma_wait(PARTS); // dQ
    RELEASE(c, &smem->ds_ring, last_o);
    add_dq(&r->s[0], c->sum);
    c->sum += SUM_BLOCK;
    if (STRIDED && b.block == w.first) // of the next head
        c->sum += (u64)blocks_between(c->p, w) * SUM_BLOCK;
}

static void finish_unit(consumer *c, registers *r, work w)
{
    ring_slot last_q = ring_previous(&smem->q_ring, c->q);
    ring_slot last_o = ring_previous(&smem->o_ring, c->o);
    ring_wait_full(&smem->ds_ring, last_o);
    multiply_dk(&r->dk, &c->t, last_o.stage, last_q.stage, w.count > 1);
    multiply_dq(&r->s[0], &c->t, last_o.stage);
    wgmma_wait(2);
    RELEASE(c, &smem->o_ring, last_o);
    RELEASE(c, &smem->v_ring, c->keys);
    wgmma_wait(0);
    RELEASE(c, &smem->q_ring, last_q);
    RELEASE(c, &smem->k_ring, c->keys);
    RELEASE(c, &smem->ds_ring, last_o);
    add_dq(&r->s[0], c->sum);
    store_keys(c, r, w);
}

static void consume(consumer c, work w)
{
    problem p = c.p;
    for (w = first_work(p, w); w.unit < p.units; w = next_work(p, w)) {
        registers r;
        u32 head = w.head * (STRIDED ? p.sharing : 1);
        c.sum = c.sums + (u64)(head * p.query_blocks + w.first) * SUM_BLOCK + warp() * 1024;
        consume_first_block(&c, &r, w);
        c.q = ring_next(&smem->q_ring, c.q);
        c.o = ring_next(&smem->o_ring, c.o);
        for (u32 i = 1; i < w.count; i++) {
            consume_block(&c, &r, w, i);
            c.q = ring_next(&smem->q_ring, c.q);
            c.o = ring_next(&smem->o_ring, c.o);
        }
        finish_unit(&c, &r, w);
    }
    if (lane() == 0)
        bulk_wait(0);
}

static void init_rings()
{
    ring_init(&smem->k_ring, 2);
    ring_init(&smem->v_ring, 2);
    ring_init(&smem->q_ring, 2);
    ring_init(&smem->o_ring, 2);
    ring_init_for(&smem->ds_ring, 8, 2); // each warp stores a part of dS
    mbarrier_fence_init();
}

kernel block(384) void attention_backward(tensor_map q, tensor_map k, tensor_map v, tensor_map o,
                                          const f32 *rows, f32 *sums, half_t *dk, half_t *dv,
                                          problem p MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m))
{
    if (thread_x() == 0) {
        init_rings();
        tensor_map_prefetch(&q);
        tensor_map_prefetch(&k);
        tensor_map_prefetch(&v);
        tensor_map_prefetch(&o);
    }
    barrier();
    if (warp() < 8) {
        registers_more(240);
        consumer c = {.p = p, .t = operands_of(warp() / 4), .sums = sums, .dk = dk, .dv = dv};
        c.is_leader = thread_x() % 128 == 0;
        consume(c, SEED(q_offsets, k_offsets, slopes, bias, m));
    } else {
        registers_less(24);
        if (thread_x() == 256)
            produce((sources){&q, &k, &v, &o, rows}, p, SEED(q_offsets, k_offsets, slopes, bias, m));
    }
}
