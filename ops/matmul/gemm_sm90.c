// C[M,N] = A * B for Hopper (sm_90a). Persistent blocks: one producer thread keeps a ring of stages
// filled through the copy engine, WGS consumer warpgroups multiply from it and store the tiles.
//
// One source for all types and layouts: -D TYPE_bf16 (f16, tf32, e4m3, s8), -D OUT_bf16 (f16, f32,
// s32), A_IS_MN / B_IS_MN for operands stored [K,M] / [K,N] instead of [M,K] / [N,K], -D EPILOGUE_bias
// (bias_relu …). A stage holds 128 bytes of K. The host (matmul.c) makes the tensor maps.
//
// -D IS_ASYNC: the copy engine stores the result, which then has a tensor map, too.
// -D NARROW_BN=128: the last columns of tiles are narrower than BN (PINGPONG only). The host picks how
// many, so that all blocks get about as much work.
// -D HAS_TAIL: for a BN that is no multiple of 64 and a B stored [K,N], loads keep to multiples of 64
// columns (DEFERRED only).
// HAS_PARTS: K is cut along the grid's y, and each part stores sums of its own, one matrix behind the
// other; gemm_add.c adds them. IS_LOOSE: rows of the result begin anywhere, or the bias does.
//
// Files: gemm_sm90_load.h (schedule, producer), gemm_sm90_store.h (epilogues), gemm_sm90_partial.h
// (split K). Start reading at `consume` below.
#include <kiln/tile.h>

tune(BM, 128, 64, 192, 256);
tune(BN, 256, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240);
tune(MOST_STAGES, 4, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24);
tune(WGS, 2, 1, 3);           // consumer warpgroups
tune(PINGPONG, 0, 1);         // each has tiles of its own: one multiplies while the other stores
tune(DEFERRED, 0, 1);         // a tile is stored while the next one is multiplied
tune(PRODUCER_WARPS, 4, 1);   // a whole warpgroup gives its registers to the consumers
tune(GROUP, 16, 1, 2, 4, 8, 32);
tune(SPLIT_K, 1, 2, 4, 8);    // blocks of a cluster that share the sum of a tile
tune(SHARERS, 1, 2, 4);       // blocks of a cluster with tiles below each other: each loads a part of B for all
tune(EARLY, 0, 1);            // A is constant: it is loaded before the previous kernel has ended
tune(SWAP, 0, 1);             // the result is stored [N,M]: the host has exchanged the operands
tune(HAS_PARTS, 0, 1);
tune(IS_LOOSE, 0, 1);

#include "gemm_types.h"

#if !defined(NARROW_BN)
#define NARROW_BN 0
#endif
#if !defined(HAS_TAIL)
#define HAS_TAIL 0
#endif
#if !defined(IS_ASYNC)
#define IS_ASYNC 0
#endif

// --- what the host says
typedef struct schedule {
    u32 rows, columns;           // of the result
    u32 tile_rows, tile_columns; // tiles of it
    u32 wide, shift;   // columns before the narrow ones; by how many each group of rows starts later
    u32 steps, loaded; // stages along K; bytes of a stage that are loaded: operands may be small
    u32 first, rank;   // of K: this block's first step; SPLIT_K: its rank in the cluster
    u32 pitch;         // numbers from one row of the result in memory to the next
} schedule;

// --- shared memory
enum {
    K_TILE = 128 / sizeof(in_t),  // elements of a stage along K
    SLAB_N = 128 / sizeof(out_t), // columns of a slab
    OWNERS = PINGPONG ? 1 : WGS,  // warpgroups that share a tile
    BLOCKS = BM / (64 * OWNERS),  // of 64 rows, per warpgroup
    // stmatrix transposes results of 16 bits. Other transposed results, and partial sums, go through
    // a whole tile in shared memory.
    IS_TRANSPOSED = SWAP && SPLIT_K == 1 && sizeof(out_t) == 2 && BN % 16 == 0,
    IS_PARTIAL = (SWAP || SPLIT_K > 1) && !IS_TRANSPOSED,
};

tile_type(a_tile, in_t, A_IS_MN ? K_TILE : BM, A_IS_MN ? BM : K_TILE, 128);
tile_type(b_tile, in_t, B_IS_MN ? K_TILE : BN, B_IS_MN ? BN : K_TILE, 128);
tile_type(slab, out_t, 16, SLAB_N, 128);       // results of a warp
tile_type(group_slab, out_t, 64, SLAB_N, 128); // transposed results of a warpgroup
typedef struct stage {
    a_tile a;
    b_tile b;
} stage;

enum {
    SHARED_LIMIT = 232448 - 1024, // of a block on sm_90; the first 1024 bytes may be lost to alignment
    STAGE_BYTES = sizeof(stage),
    STAGING_BYTES = IS_PARTIAL ? BM * BN * (SPLIT_K > 1 ? 8 : 4) : WGS * 8 * sizeof(slab),
    FIT = (SHARED_LIMIT - 16 - STAGING_BYTES) / (STAGE_BYTES + 16),
    LIMIT = FIT < 2 ? 2 : FIT < MOST_STAGES ? FIT : MOST_STAGES,
    STAGES = LIMIT > 16 ? LIMIT / 2 * 2 : LIMIT
};

ring_type(stage_ring, STAGES);

typedef struct layout {
    stage stages[STAGES];
    u8 staging[STAGING_BYTES]; // slabs or partial sums
    stage_ring ring;
    // PINGPONG: a warpgroup begins a tile when the other has seen its last stage come in, because the
    // ring tells rounds apart by one bit only. SPLIT_K: [0] counts partial sums of other blocks.
    mbarrier turn[2];
} layout;

_Alignas(1024) shared layout smem[];

enum {
    SHARED_BYTES = sizeof(layout), // the host reads these two
    FITS = SHARED_BYTES <= SHARED_LIMIT,
    THREADS = 128 * WGS + 32 * PRODUCER_WARPS,
    IS_WIDE = BLOCKS * BN / 2 + (DEFERRED ? BN / 4 : 0) > 160, // accumulators and packed results
    PRODUCER_REGISTERS = WGS == 3 ? 32 : IS_WIDE ? 24 : 40,
    CONSUMER_REGISTERS = WGS == 3 ? 160 : IS_WIDE ? 240 : 232
};

typedef acc_t accumulators[BLOCKS][BN / 2];

#include "gemm_sm90_load.h"
#include "gemm_sm90_store.h"
#include "gemm_sm90_partial.h"

// --- consumers
typedef struct consumer { // what a warpgroup keeps from tile to tile
    u32 group;
    bool is_leader;
    ring_slot slot;
    mma_operand a, b; // in the first stage
    deferred stores;
} consumer;

// acc = a * b over one stage, in four steps. A narrow tile uses the first of the accumulators.
static void multiply_stage(accumulators *acc, mma_operand a, mma_operand b, bool adds, u32 width)
{
    typedef acc_t narrow[(NARROW_BN ? NARROW_BN : BN) / 2];
    wgmma_fence();
#pragma unroll
    for (u32 k = 0; k < 4; k++)
#pragma unroll
        for (u32 i = 0; i < BLOCKS; i++) {
            if (width == BN)
                WGMMA((*acc)[i], operand_at(a, i, k), operand_at(b, 0, k), adds || k != 0);
            else
                WGMMA(*(narrow *)(*acc)[i], operand_at(a, i, k), operand_at(b, 0, k), adds || k != 0);
        }
    wgmma_commit();
}

// The sum of a tile along K: wait for a stage, multiply, release the one before. Meanwhile the slabs
// of the deferred tile leave, one at each step. `width` is BN or NARROW_BN.
static void multiply_tile(accumulators *acc, consumer *c, u32 slabs, u32 steps, u32 width)
{
    ring_slot before = {0, 0}; // the stage that is still being read
    for (u32 k = 0; k < steps; k++) {
        ring_wait_full(&smem->ring, c->slot);
        if (PINGPONG && k == steps - 1 && c->is_leader)
            mbarrier_arrive(&smem->turn[c->group ^ 1]);
        u32 offset = c->slot.stage * STAGE_BYTES;
        multiply_stage(acc, operand_move(c->a, offset), operand_move(c->b, offset), k != 0, width);
        if (DEFERRED)
            store_deferred(&c->stores, k, min(k + 1, slabs));
        wgmma_wait(1);
        if (k != 0)
            ring_release_together(&smem->ring, before, SHARERS, c->is_leader);
        before = c->slot;
        c->slot = ring_next(&smem->ring, c->slot);
    }
    wgmma_wait(0);
    ring_release_together(&smem->ring, before, SHARERS, c->is_leader);
}

static void consume(destination to, schedule w)
{
    u32 group = warp() / 4, turn = group ^ 1, slabs = 0; // slabs: of the deferred tile
    u32 position = PINGPONG ? group * w.steps : 0;       // in the ring, of a tile's first stage
    u32 first = PINGPONG ? 0 : group * BLOCKS;           // of this warpgroup's blocks
    stage *s = &smem->stages[0];
    consumer c = {
        .group = group,
        .is_leader = thread_x() % 128 == 0,
        .a = A_IS_MN ? tile_operand_block_transposed(&s->a, first) : tile_operand_block(&s->a, first),
        .b = B_IS_MN ? tile_operand_transposed(&s->b) : tile_operand(&s->b),
        .stores.to = to};
    for (u32 t = first_tile() + (PINGPONG ? group * tile_stride() : 0);
         t < w.tile_rows * w.tile_columns; t += tile_stride() * (PINGPONG ? WGS : 1)) {
        u32x2 at = tile_origin(t, w);
        accumulators acc;
        if (PINGPONG) {
            c.slot = ring_at(&smem->ring, position, RING_CONSUMER);
            position += WGS * w.steps;
            mbarrier_wait(&smem->turn[group], turn);
            turn ^= 1;
            // In a short sum both turns could pass before a slow warp of this group has looked.
            if (w.steps < 8)
                barrier_sync(1 + group, 128);
        }
        to.row = at.x;
        to.column = at.y;
        if (is_narrow(w, at.y)) {
            multiply_tile(&acc, &c, 0, w.steps, NARROW_BN);
            store_tile(&acc, to, NARROW_BN);
        } else if (DEFERRED) {
            multiply_tile(&acc, &c, slabs, w.steps, BN);
            store_deferred(&c.stores, w.steps, slabs);
            to.row += group * 64;
            slabs = DEFERRED_SLABS;
            defer_block(&acc[0], to, &c.stores);
        } else {
            multiply_tile(&acc, &c, 0, w.steps, BN);
            store_tile(&acc, to, BN);
        }
    }
    if (DEFERRED)
        store_deferred(&c.stores, 0, slabs);
    if (IS_ASYNC)
        bulk_wait(0);
}

// --- the kernel
static void init_barriers(const tensor_map *a, const tensor_map *b)
{
    if (thread_x() == 0) {
        ring_init(&smem->ring, OWNERS * SHARERS);
        if (PINGPONG || SPLIT_K > 1)
            mbarrier_init(&smem->turn[0], 1);
        if (PINGPONG)
            mbarrier_init(&smem->turn[1], 1);
        mbarrier_fence_init();
        tensor_map_prefetch(a);
        tensor_map_prefetch(b);
    }
    if (SPLIT_K > 1) {
        warp_sync();
        cluster_arrive_relaxed();
    }
    barrier();
    if (SHARERS > 1) { // nobody loads for another before its barriers are there
        cluster_arrive_relaxed();
        cluster_wait();
    }
}

kernel block(THREADS) cluster(SPLIT_K * SHARERS) void gemm(tensor_map a, tensor_map b,
#if NARROW_BN || HAS_TAIL
                                                 tensor_map b_other,
#endif
#if IS_ASYNC
                                                 tensor_map result,
#else
                                                 out_t *out,
#endif
#if HAS_TAIL
                                                 tensor_map result_tail,
#endif
#if HAS_BIAS
                                                 const f32 *bias,
#endif
                                                 schedule w)
{
    destination to = {.rows = w.rows, .columns = w.columns, .pitch = w.pitch};
    sources from = {.a = &a, .b = &b, .b_other = &b};
#if NARROW_BN || HAS_TAIL
    from.b_other = &b_other;
#endif
#if IS_ASYNC
    to.map = &result;
#else
    to.out = out;
#endif
#if HAS_TAIL
    to.tail_map = &result_tail;
#endif
#if HAS_BIAS
    to.bias = bias;
#endif
    if (SPLIT_K > 1) {
        u32 all = w.steps;
        w.rank = cluster_rank();
        w.first = all * w.rank / SPLIT_K;
        w.steps = all * (w.rank + 1) / SPLIT_K - w.first;
    }
    if (HAS_PARTS) {
        u32 part = block_y(), all = w.steps;
        w.first = (u32)((u64)all * part / grid_dim_y());
        w.steps = (u32)((u64)all * (part + 1) / grid_dim_y()) - w.first;
        to.out += (u64)part * (SWAP ? w.columns : w.rows) * w.pitch;
    }
    u32x2 at = tile_origin(first_tile(), w); // its divisions run while the barriers are made
    init_barriers(&a, &b);
    if (warp() < WGS * 4) {
        if (PRODUCER_WARPS == 4)
            registers_more(CONSUMER_REGISTERS);
        next_kernel_launch();
        if (thread_x() == 0)
            expect_first(w, at);
        if (HAS_BIAS) // the producer waits for what it loads itself
            previous_kernel_wait();
        consume(to, w);
    } else {
        if (PRODUCER_WARPS == 4)
            registers_less(PRODUCER_REGISTERS);
        if (thread_x() == WGS * 128)
            produce(from, w, at);
    }
    if (SPLIT_K > 1)
        add_partials(to, w);
    if (SPLIT_K * SHARERS > 1) { // other blocks may still read this one's memory or signal its barriers
        warp_sync();
        cluster_arrive_relaxed();
        cluster_wait();
    }
}
