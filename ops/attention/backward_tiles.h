// The tiles of attention backward (backward_sm90.c): where they lie in shared memory, the products
// of them, and P and dS, which are made in registers.
#include "backward_units.h"

enum {
    PINNED = HD == 64 && !CAUSAL && !MASKED, // see pin_p
    Q_STAGES = PINNED ? 3 : 4,
    O_STAGES = 2 // of dO and its row values; also the buffers of dS
};

tile_type(kv_tile, half_t, KEYS, HD, 128);
tile_type(q_tile, half_t, M, HD, 128);
tile_type(ds_tile, half_t, KEYS, M, 128);
ring_type(kv_ring, 1);
ring_type(q_ring, Q_STAGES);
ring_type(o_ring, O_STAGES);

typedef struct layout {
    kv_tile k, v;
    q_tile q[Q_STAGES], o[O_STAGES]; // o: dO
    ds_tile ds[O_STAGES];
    f32 staging[8][1024]; // of a warp
    row_values rows[O_STAGES];
    kv_ring k_ring, v_ring;
    q_ring q_ring;
    o_ring o_ring, ds_ring;
} layout;

_Alignas(1024) shared layout smem[];
enum { SHARED_BYTES = sizeof(layout) };

// --- products

// What the products read, at stage 0.
typedef struct operands {
    mma_operand k, v, ds;     // of this warpgroup's 64 keys
    mma_operand q, o, qt, ot; // of a query block; t: transposed
    mma_operand dst, kt;      // of this warpgroup's part of dQ
} operands;

// Each warpgroup has 64 x 64 of dQ: half of the columns (HD 128) or of the queries (HD 64).
static operands operands_of(u32 group)
{
    return (operands){
        .k = tile_operand_block(&smem->k, group),
        .v = tile_operand_block(&smem->v, group),
        .ds = tile_operand_block(&smem->ds[0], group),
        .q = tile_operand(&smem->q[0]),
        .o = tile_operand(&smem->o[0]),
        .qt = tile_operand_transposed(&smem->q[0]),
        .ot = tile_operand_transposed(&smem->o[0]),
        .dst = tile_operand_block_transposed(&smem->ds[0], HD == 128 ? 0 : group),
        .kt = tile_operand_block_transposed(&smem->k, HD == 128 ? group : 0),
    };
}

static void multiply_scores(scores *s, mma_operand keys, mma_operand queries, u32 stage)
{
    mma_operand b = operand_stage(queries, stage, sizeof(q_tile));
    wgmma_fence();
#pragma unroll
    for (u32 part = 0; part < PARTS; part++)
        tile_mma(MMA, (*s)[part], keys, operand_move(b, part * 8192), HD / 16, false);
    wgmma_commit();
}

static void multiply_dk(f32 (*dk)[HD / 2], const operands *t, u32 ds_stage, u32 q_stage, bool adds)
{
    mma_operand a = operand_stage(t->ds, ds_stage, sizeof(ds_tile));
    mma_operand b = operand_stage(t->qt, q_stage, sizeof(q_tile));
    wgmma_fence();
    tile_mma(MMA_B_MN, *dk, a, b, M / 16, adds);
    wgmma_commit();
}

static void multiply_dq(f32 (*dq)[32], const operands *t, u32 ds_stage)
{
    mma_operand a = operand_stage(t->dst, ds_stage, sizeof(ds_tile));
    wgmma_fence();
    tile_mma(MMA_AB_MN, *dq, a, t->kt, KEYS / 16, false);
    wgmma_commit();
}

static void multiply_dv(f32 (*dv)[HD / 2], packed *p, u32 part, const operands *t, u32 o_stage,
                        bool adds)
{
    mma_operand b = operand_stage(t->ot, o_stage, sizeof(q_tile));
    wgmma_fence();
#pragma unroll
    for (u32 i = part * 4; i < part * 4 + 4; i++)
        MMA_B_MN(*dv, (*p)[i], operand_at(b, 0, i), adds || i > 0);
    wgmma_commit();
}

// --- dS

// A use of P in code that never runs. Without it ptxas moves most of the exponentials down to the
// next use, behind the wait for dP. With HD 64 and no mask they are better before it, and with HD
// 128 or the mask they are not (measured).
static void pin_p(scores *s, f32 c)
{
    if (!PINNED || c >= 0.0f)
        return;
    u32 all = 0;
#pragma unroll
    for (u32 i = 0; i < M / 2; i++)
        all += bits_f32((*s)[i / 32][i % 32]);
    *((u32 *)smem->staging + thread_x() * 4) = all;
}

static void make_ds(scores *d, scores *s, packed *p, u32 part, const row_values *rows)
{
#pragma unroll
    for (u32 j = part * 8; j < part * 8 + 8; j++) {
        f32x2 sum = pair_at(rows->d, j);
#pragma unroll
        for (u32 r = 0; r < 4; r++) {
            f32 *at = &(*d)[j / 8][j % 8 * 4 + r];
            *at = (*at - (r % 2 ? sum.y : sum.x)) * (*s)[j / 8][j % 8 * 4 + r];
        }
        if (M != 64 && j % 2)
            pack_p(p, s, j / 2);
    }
}

static void store_ds(scores *d, u32 part, ring_slot to)
{
    u8 *row = (u8 *)smem->ds[to.stage].panel[part][warp() * 16 + lane() % 16];
    u32 chunk = (lane() / 16 ^ lane() % 8) * 16; // as tile_put, with one xor per fragment
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        u32 words[4] = acc_words(PACK, &(*d)[part][i * 8]);
        stmatrix(row + (chunk ^ i * 32), words);
    }
    if (part + 1 < PARTS)
        return;
    fence_async();
    warp_sync();
    if (lane() == 0)
        mbarrier_arrive(ring_full(&smem->ds_ring, to));
}
