// Attention backward for Hopper (sm_90a): dK, dV and the sum of dQ from Q, K, V, dO and the row
// values that backward_ends.c makes before; it turns the sum into dQ after. -D TYPE_f16 for f16.
//
// For head dimensions up to 128. A unit of work (backward_units.h) is 128 keys. One producer thread
// keeps rings of Q and dO filled through the copy engine (backward_produce.h); two consumer warpgroups
// own 64 keys each and work on transposed scores, so that P^T is the register operand of
// dV += P^T dO. For query block i:
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

#include "backward_produce.h"

// --- the consumers: a warpgroup each

typedef struct consumer {
    problem p;
    operands t;
    ring_slot q, o, keys;
    f32 *sums, *sum; // of dQ: all, and of the next block that is done
    out_t *dk, *dv;
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

static void store_unit(consumer *c, registers *r, work w, bool is_empty)
{
    if (lane() == 0)
        bulk_wait_read(0);
    store_keys(smem->staging[warp()], c->dv, c->p.dv, &r->dv, 1.0f, c->p, w, is_empty);
    store_keys(smem->staging[warp()], c->dk, c->p.dk, &r->dk, c->p.scale, c->p, w, is_empty);
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
    mask_scores(&r->s, c->p, w, query_block_at(c->p, w, 0));
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
    c->sum += SUM;
    if (STRIDED && b.block == w.first) // of the next head
        c->sum += (u64)blocks_between(c->p, w) * SUM;
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
    store_unit(c, r, w, false);
}

static void consume(consumer c, work w)
{
    problem p = c.p;
    for (w = first_work(p, w); w.unit < p.units; w = next_work(p, w)) {
        registers r;
        if (IS_SPLIT && w.count == 0) {
            store_unit(&c, &r, w, true);
            continue;
        }
        c.sum = sum_at(p, c.sums, query_block_at(p, w, 0)) + warp() * 1024;
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
                                          const f32 *rows, f32 *sums, out_t *dk, out_t *dv,
                                          problem p MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m))
{
    if (thread_x() == 0) {
        init_rings();
        tensor_map_prefetch(&q);
        tensor_map_prefetch(&k);
        tensor_map_prefetch(&v);
        tensor_map_prefetch(&o);
    }
    kernel_begin();
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
