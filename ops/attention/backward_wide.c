// Attention backward for Hopper (sm_90a) with head dimensions above 128: dK, dV and the sum of dQ, as
// backward_sm90.c makes them, between the same two kernels of backward_ends.c. -D TYPE_f16 for f16.
//
// A unit of work (backward_units.h) is 64 keys: dK and dV of more do not fit into the registers. So
// the products are divided by what they give, not by keys. Scores are transposed; for query block i
//
//     warpgroup 0   S = K Q^T, P = exp2(c S - LSE), dV += P dO    hands P over through shared memory
//     warpgroup 1   dP = V dO^T, dS = P (dP - D), dK += dS Q      hands dS over
//     warpgroup 2   dQ = dS^T K                                   adds it to global memory
//     one thread    keeps rings of Q and dO filled (backward_produce.h)
//
// P and dS are register operands where they were made. Behind dV of block i warpgroup 0 has the scores
// of block i + 1 in the queue of the tensor cores, and so has warpgroup 1 dP behind dK. None waits
// for another but for what it gets, and each may be a block ahead. Start at `make_values`.
#include "backward_units.h"

enum { // what shared memory and registers hold
    Q_STAGES = HD == 256 ? 2 : 3,
    O_STAGES = 2,                            // of dO and its row values
    DS_STAGES = HD == 256 ? 1 : 2,
    DQ_PARTS = HD == 256 ? 4 : 1,            // of the columns of dQ: what registers hold at a time
    DQ_COLUMNS = HD / DQ_PARTS,
    CHUNK = 512,                             // numbers that a warp adds to dQ at a time: 32 columns
    CHUNKS = HD == 256 ? 2 : 3,              // of a warp in shared memory; a part of dQ has a multiple
    KEY_REGISTERS = HD == 256 ? 208 : 176 // of the threads of warpgroups 0 and 1
};

tile_type(kv_tile, half_t, KEYS, HD, 128);
tile_type(q_tile, half_t, M, HD, 128);
tile_type(ds_tile, half_t, KEYS, M, 128);
ring_type(kv_ring, 1);
ring_type(q_ring, Q_STAGES);
ring_type(o_ring, O_STAGES);
ring_type(ds_ring, DS_STAGES);

typedef struct layout {
    kv_tile k, v;
    q_tile q[Q_STAGES], o[O_STAGES]; // o: dO
    ds_tile ds[DS_STAGES];
    u32 p[4][4][32][4]; // P of each warp of warpgroup 0, as its registers hold it
    f32 staging[4][CHUNKS][CHUNK];
    row_values rows[O_STAGES];
    kv_ring k_ring, v_ring, p_ring;
    q_ring q_ring;
    o_ring o_ring;
    ds_ring ds_ring;
} layout;

_Alignas(1024) shared layout smem[];
enum { SHARED_BYTES = sizeof(layout) };

#include "backward_produce.h"

// Of this warpgroup, which has read a stage.
static bool is_first()
{
    return thread_x() % 128 == 0;
}
#define RELEASE(ring, at)            \
    do {                             \
        if (is_first())              \
            ring_release(ring, at);  \
    } while (0)

// --- products

static void multiply_scores(scores *s, mma_operand keys, mma_operand queries)
{
    wgmma_fence();
    tile_mma(MMA, (*s)[0], keys, queries, HD / 16, false);
    wgmma_commit();
}

// acc += words * queries: dV from P and dO, dK from dS and Q.
static void multiply_rows(f32 (*acc)[HD / 2], packed *words, mma_operand queries, bool adds)
{
    f32(*halves)[2][HD / 4] = (f32(*)[2][HD / 4])acc;
    wgmma_fence();
    if (HD == 256) {
        tile_mma_words(MMA_B_MN, (*halves)[0], *words, queries, M / 16, adds);
        tile_mma_words(MMA_B_MN, (*halves)[1], *words, operand_move(queries, 2 * queries.block), M / 16, adds);
    } else {
        tile_mma_words(MMA_B_MN, *acc, *words, queries, M / 16, adds);
    }
    wgmma_commit();
}

// --- warpgroup 0: P and dV

static void hand_over_p(packed *p, ring_slot at)
{
    mbarrier_wait(&smem->p_ring.empty[0], at.phase ^ 1);
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        *(u32x4 *)smem->p[warp() % 4][i][lane()] = (u32x4){(*p)[i][0], (*p)[i][1], (*p)[i][2], (*p)[i][3]};
    warp_sync();
    if (lane() == 0)
        mbarrier_arrive(ring_full(&smem->p_ring, at));
}

static void make_values(problem p, out_t *dv, work w)
{
    const mma_operand k = tile_operand(&smem->k), q_0 = tile_operand(&smem->q[0]),
                      o_0 = tile_operand_transposed(&smem->o[0]);
    ring_slot q = {0, 0}, o = {0, 0}, keys = {0, 0}, handed = {0, 0};
    for (w = first_work(p, w); w.unit < p.units; w = next_work(p, w)) {
        f32 sum[HD / 2];
        for (u32 i = 0; i < w.count; i++) {
            scores s;
            packed words;
            if (i == 0)
                ring_wait_full(&smem->k_ring, keys);
            ring_wait_full(&smem->q_ring, q);
            multiply_scores(&s, k, operand_stage(q_0, q.stage, sizeof(q_tile)));
            if (i > 0) {
                wgmma_wait(1); // dV of the last block
                RELEASE(&smem->o_ring, ring_previous(&smem->o_ring, o));
            }
            wgmma_wait(0);
            RELEASE(&smem->q_ring, q);
            if (i + 1 == w.count && is_first())
                ring_release(&smem->k_ring, keys);
            ring_wait_full(&smem->o_ring, o);
            mask_scores(&s, p, w, query_block_at(p, w, i));
            make_p(&s, &words, p.c, &smem->rows[o.stage]);
            hand_over_p(&words, handed);
            multiply_rows(&sum, &words, operand_stage(o_0, o.stage, sizeof(q_tile)), i > 0);
            handed.phase ^= 1;
            q = ring_next(&smem->q_ring, q);
            o = ring_next(&smem->o_ring, o);
        }
        wgmma_wait(0);
        if (w.count > 0)
            RELEASE(&smem->o_ring, ring_previous(&smem->o_ring, o));
        keys.phase ^= w.count > 0 ? 1 : 0;
        mbarrier_wait(&smem->p_ring.empty[0], handed.phase ^ 1); // P's place is free for a while
        store_keys(smem->p[warp()], dv, p.dv, &sum, 1.0f, p, w, w.count == 0);
    }
}

// --- warpgroup 1: dS and dK

// d: dP, becomes dS, in words as well.
static void make_ds(scores *d, packed *words, const row_values *rows)
{
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        u32x4 four = *(const u32x4 *)smem->p[warp() % 4][i][lane()];
        const u32 weights[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (u32 n = 0; n < 4; n++) {
            f32x2 sum = pair_at(rows->d, i * 2 + n / 2), weight = unpack(weights[n]);
            f32 *at = &(*d)[0][i * 8 + n * 2];
            (*words)[i][n] = PACK((at[0] - sum.x) * weight.x, (at[1] - sum.y) * weight.y);
        }
    }
}

static void hand_over_ds(packed *words, ring_slot to)
{
    mbarrier_wait(&smem->ds_ring.empty[to.stage], to.phase ^ 1);
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        tile_put(&smem->ds[to.stage], warp() % 4 * 16, i * 16, (*words)[i]);
    fence_async();
    warp_sync();
    if (lane() == 0)
        mbarrier_arrive(ring_full(&smem->ds_ring, to));
}

static void make_keys(problem p, out_t *dk, work w)
{
    const mma_operand v = tile_operand(&smem->v), o_0 = tile_operand(&smem->o[0]),
                      q_0 = tile_operand_transposed(&smem->q[0]);
    ring_slot q = {0, 0}, o = {0, 0}, keys = {0, 0}, got = {0, 0}, ds = {0, 0};
    for (w = first_work(p, w); w.unit < p.units; w = next_work(p, w)) {
        f32 sum[HD / 2];
        for (u32 i = 0; i < w.count; i++) {
            scores d;
            packed words;
            if (i == 0)
                ring_wait_full(&smem->v_ring, keys);
            ring_wait_full(&smem->o_ring, o);
            multiply_scores(&d, v, operand_stage(o_0, o.stage, sizeof(q_tile)));
            if (i > 0) {
                wgmma_wait(1); // dK of the last block
                RELEASE(&smem->q_ring, ring_previous(&smem->q_ring, q));
            }
            wgmma_wait(0);
            if (i + 1 == w.count && is_first())
                ring_release(&smem->v_ring, keys);
            ring_wait_full(&smem->p_ring, got);
            make_ds(&d, &words, &smem->rows[o.stage]);
            warp_sync();
            if (lane() == 0) {
                ring_release(&smem->p_ring, got);
                ring_release(&smem->o_ring, o); // all of warpgroup 0 have read their row values, too
            }
            hand_over_ds(&words, ds);
            ring_wait_full(&smem->q_ring, q);
            multiply_rows(&sum, &words, operand_stage(q_0, q.stage, sizeof(q_tile)), i > 0);
            got.phase ^= 1;
            q = ring_next(&smem->q_ring, q);
            o = ring_next(&smem->o_ring, o);
            ds = ring_next(&smem->ds_ring, ds);
        }
        wgmma_wait(0);
        if (w.count > 0)
            RELEASE(&smem->q_ring, ring_previous(&smem->q_ring, q));
        keys.phase ^= w.count > 0 ? 1 : 0;
        mbarrier_wait(&smem->ds_ring.empty[ds.stage], ds.phase ^ 1); // the next place of dS, too
        store_keys(smem->ds[ds.stage].panel[0][warp() % 4 * 16], dk, p.dk, &sum, p.scale, p, w, w.count == 0);
    }
}

// --- warpgroup 2: dQ

// Adds some columns of this warp's 16 rows of dQ to the sum, in the order of the registers.
static void add_dq(f32 (*dq)[DQ_COLUMNS / 2], f32 *sum)
{
#pragma unroll
    for (u32 chunk = 0; chunk < DQ_COLUMNS / 32; chunk++) {
        f32 *staging = smem->staging[warp() % 4][chunk % CHUNKS];
        if (lane() == 0)
            bulk_wait_read(CHUNKS - 1);
        warp_sync();
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            const f32 *at = &(*dq)[chunk * 16 + i * 4];
            *(f32x4 *)(staging + i * 128 + lane() * 4) = (f32x4){at[0], at[1], at[2], at[3]};
        }
        fence_async();
        warp_sync();
        if (lane() == 0) {
            bulk_add_f32(sum + chunk / 2 * 4096 + chunk % 2 * CHUNK, (const f32 *)staging, CHUNK * 4);
            bulk_commit();
        }
    }
}

static void make_queries(problem p, f32 *sums, work w)
{
    const mma_operand ds_0 = tile_operand_transposed(&smem->ds[0]);
    ring_slot keys = {0, 0}, ds = {0, 0};
    for (w = first_work(p, w); w.unit < p.units; w = next_work(p, w)) {
        for (u32 i = 0; i < w.count; i++) {
            f32 *sum = sum_at(p, sums, query_block_at(p, w, i)) + warp() % 4 * 1024;
            mma_operand a = operand_stage(ds_0, ds.stage, sizeof(ds_tile));
            if (i == 0)
                ring_wait_full(&smem->k_ring, keys);
            ring_wait_full(&smem->ds_ring, ds);
#pragma unroll
            for (u32 part = 0; part < DQ_PARTS; part++) {
                f32 dq[DQ_COLUMNS / 2];
                mma_operand b = tile_operand_block_transposed(&smem->k, part * (DQ_COLUMNS / 64));
                wgmma_fence();
                tile_mma(MMA_AB_MN, dq, a, b, KEYS / 16, false);
                wgmma_commit();
                wgmma_wait(0);
                if (part + 1 == DQ_PARTS && is_first()) {
                    ring_release(&smem->ds_ring, ds);
                    if (i + 1 == w.count)
                        ring_release(&smem->k_ring, keys);
                }
                add_dq(&dq, sum + part * (DQ_COLUMNS / 64) * 4096);
            }
            ds = ring_next(&smem->ds_ring, ds);
        }
        keys.phase ^= w.count > 0 ? 1 : 0;
    }
    if (lane() == 0)
        bulk_wait(0);
}

static void init_rings()
{
    ring_init(&smem->k_ring, 2);
    ring_init(&smem->v_ring, 1);
    ring_init(&smem->q_ring, 2);
    ring_init(&smem->o_ring, 5); // warpgroup 0, and each warp of warpgroup 1
    ring_init_for(&smem->p_ring, 4, 4);
    ring_init_for(&smem->ds_ring, 4, 1);
    mbarrier_fence_init();
}

kernel block(512) void attention_backward(tensor_map q, tensor_map k, tensor_map v, tensor_map o,
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
    u32 group = warp() / 4;
    if (group == 0) {
        registers_more(KEY_REGISTERS);
        make_values(p, dv, SEED(q_offsets, k_offsets, slopes, bias, m));
    } else if (group == 1) {
        registers_more(KEY_REGISTERS);
        make_keys(p, dk, SEED(q_offsets, k_offsets, slopes, bias, m));
    } else if (group == 2) {
        if (HD == 256) // a block starts with 128
            registers_less(72);
        else
            registers_more(136);
        make_queries(p, sums, SEED(q_offsets, k_offsets, slopes, bias, m));
    } else {
        registers_less(24);
        if (thread_x() == 384)
            produce((sources){&q, &k, &v, &o, rows}, p, SEED(q_offsets, k_offsets, slopes, bias, m));
    }
}
