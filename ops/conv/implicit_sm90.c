// Convolutions for Hopper (sm_90a): a matrix product whose left operand is never stored. A row of it
// is a place of the result, its columns are taps and channels.
//
// A tile is a box of places (columns, rows, images) and BN channels. The tensor map of `from` has the
// same box: for each tap and 64 channels the copy engine loads what the places read there, and zeros
// where a window reaches beyond the tensor. Strides of the window are the map's element strides. One
// thread keeps a ring of stages filled, WGS warpgroups multiply, as in ops/matmul/gemm_sm90.c.
//
// Channels of the tensors are contiguous; sm90.h says how weights lie. The way from the small tensor to
// the large one takes taps backwards, and with a stride some of them for some places only: its phases.
#include "sm90.h"

tune(BM, 128, 64, 192, 256); // places of a tile
tune(RESIDENT, 1, 2);        // blocks of a multiprocessor

// --- shared memory
enum { BLOCKS = BM / (64 * WGS) };
tile_type(a_tile, T, BM, K_TILE, 128);
typedef struct stage {
    a_tile a;
    b_tile b;
} stage;

enum {
    SHARED_LIMIT = (RESIDENT == 2 ? 113 * 1024 : 232448) - 1024,
    STAGING_BYTES = SHARE > 1 ? 0 : WGS * 4 * sizeof(slab),
    STAGE_BYTES = sizeof(stage),
    FIT = (SHARED_LIMIT - 1024 - STAGING_BYTES) / STAGE_BYTES,
    STAGES = FIT < 2 ? 2 : FIT < 8 ? FIT : 8
};
ring_type(stage_ring, STAGES);

typedef struct layout { // SHARE: after the last product the stages are this block's sums
    stage stages[STAGES];
    u8 staging[STAGING_BYTES + 16];
    stage_ring ring;
} layout;

_Alignas(1024) shared layout smem[];

enum {
    SHARED_BYTES = sizeof(layout), // the host reads it
    THREADS = 128 * WGS + (RESIDENT == 1 ? 128 : 32)
};
#include "sm90_share.h"

// --- tiles that load weights for each other
// Tiles of the same places follow each other, in rows of LOADERS tiles of the same channels.
static u32 places_of(const conv_shape *s, u32 number)
{
    return number / LOADERS / s->tiles_c * LOADERS + number % LOADERS;
}

static u32 channel_of(const conv_shape *s, u32 number)
{
    return number / LOADERS % s->tiles_c * BN;
}

// A warpgroup has read a stage: all that load for it are told.
static void release_stage(mbarrier *empty)
{
    u32 thread = thread_x() % 128;
    if (LOADERS > 1 && thread < LOADERS)
        mbarrier_arrive_at_relaxed(empty, thread);
    else if (LOADERS == 1 && thread == 0)
        mbarrier_arrive(empty);
}

// Nobody loads for another before its barriers are there, and none ends before the others are done.
static void meet_loaders(void)
{
    if (LOADERS > 1) {
        warp_sync();
        cluster_arrive_relaxed();
        cluster_wait();
    }
}

// --- tiles
typedef struct patch { // the first place of a tile, its first channel, and its phase
    u32 w, h, n, channel, phase;
} patch;

// `row` plays no part here: a tile is one box.
static patch patch_of(const conv_shape *s, u32 t, u32 row)
{
    turn r = turn_of(s, t);
    u32 across = phase_of(s, r.phase, tiles_w), down = phase_of(s, r.phase, tiles_h);
    u32 places = places_of(s, r.number), rows = places / across, images = rows / down;
    return (patch){(places - rows * across) * s->box_w, (rows - images * down) * s->box_h, images * s->box_n,
                   channel_of(s, r.number), r.phase};
}

// The steps of a tile that are this block's: a step is 64 channels of a tap.
static range steps_of(const conv_shape *s, patch at)
{
    return range_of(phase_of(s, at.phase, taps_w) * phase_of(s, at.phase, taps_h) * s->blocks);
}

// --- the producer
static void produce(const tensor_map *from, const tensor_map *weight, const conv_shape *s)
{
    ring_slot slot = {0, RING_PRODUCER};
    u32 group = block_y();
    if (!IS_LATE)
        previous_kernel_wait();
    for (u32 t = block_x(); t < s->tiles; t += grid_dim_x()) {
        patch at = patch_of(s, t, 0);
        range r = steps_of(s, at);
        u32 tap = r.first / s->blocks, block = r.first - tap * s->blocks;
        u32 taps_w = phase_of(s, at.phase, taps_w), y = tap / max(taps_w, 1u), x = tap - y * taps_w;
        i32 left = (i32)at.w * s->stride_w - phase_of(s, at.phase, pad_w);
        i32 top = (i32)at.h * s->stride_h - phase_of(s, at.phase, pad_h), tap_first = phase_of(s, at.phase, tap_first);
        for (u32 step = r.first; step < r.end; step++) {
            stage *to = &smem->stages[slot.stage];
            mbarrier *full = ring_full(&smem->ring, slot);
            ring_acquire(&smem->ring, slot, s->loaded);
            tensor_load_4d(to->a.panel[0], from, (i32)(group * s->terms + block * K_TILE),
                           left + (i32)x * s->dilation_w, top + (i32)y * s->dilation_h, (i32)at.n, full);
            load_weights(&to->b, weight, s, block, tap_first + (i32)x * s->tap_w + (i32)y * s->tap_h, at.channel, full);
            slot = ring_next(&smem->ring, slot);
            if (++block == s->blocks) {
                block = 0;
                if (++x == taps_w) {
                    x = 0;
                    y++;
                }
            }
        }
    }
}

// --- consumers
typedef f32 accumulators[BLOCKS][BN / 2];

typedef struct consumer {
    ring_slot slot;
    mma_operand a, b; // in the first stage
} consumer;

static void multiply_stage(accumulators *acc, mma_operand a, mma_operand b, bool adds)
{
    wgmma_fence();
#pragma unroll
    for (u32 k = 0; k < 4; k++)
#pragma unroll
        for (u32 i = 0; i < BLOCKS; i++)
            MMA((*acc)[i], operand_at(a, i, k), operand_at(b, 0, k), adds || k != 0);
    wgmma_commit();
}

static void multiply_tile(accumulators *acc, consumer *c, u32 steps)
{
    ring_slot before = {0, 0}; // the stage that is still being read
    if (steps == 0) {          // places that no window has
#pragma unroll
        for (u32 i = 0; i < BLOCKS * (BN / 2); i++)
            (*acc)[i / (BN / 2)][i % (BN / 2)] = 0;
        return;
    }
    for (u32 k = 0; k < steps; k++) {
        ring_wait_full(&smem->ring, c->slot);
        u32 offset = c->slot.stage * STAGE_BYTES;
        multiply_stage(acc, operand_move(c->a, offset), operand_move(c->b, offset), k != 0);
        wgmma_wait(1);
        if (k != 0)
            release_stage(&smem->ring.empty[before.stage]);
        before = c->slot;
        c->slot = ring_next(&smem->ring, c->slot);
    }
    wgmma_wait(0);
    release_stage(&smem->ring.empty[before.stage]);
}

// --- results
// Where row `row` of a tile has its place; false: there is none.
static bool place_of(const conv_shape *s, patch at, u32 row, u32 place[3])
{
    u32 line = row / s->box_w, image = line / s->box_h;
    place[0] = at.w + row - line * s->box_w;
    place[1] = at.h + line - image * s->box_h;
    place[2] = at.n + image;
    return image < s->box_n && place[0] < phase_of(s, at.phase, to_w) && place[1] < phase_of(s, at.phase, to_h) && place[2] < s->to_n;
}

#include "sm90_store.h"
#include "sm90_adds.h"
#ifdef HAS_BIAS
#    define BIAS_OR_NONE bias
#else
#    define BIAS_OR_NONE ((const BIAS *)0)
#endif

// A box may have fewer places than a tile has rows: the rows behind them are zeros in every stage.
static void clear_rest(const conv_shape *s)
{
    u32 first = s->box_w * s->box_h * s->box_n * 8, count = BM * 8 - first; // in 16 bytes
    for (u32 i = thread_x(); i < count * STAGES; i += THREADS) {
        u32 stage = i / count;
        ((u32x4 *)smem->stages[stage].a.panel[0])[first + i - stage * count] = (u32x4){0, 0, 0, 0};
    }
    fence_async();
}

// SHARE: a block has one tile, and LOADERS is 1.
kernel block(THREADS) cluster(LOADERS, 1, SHARE) void conv_sm90(tensor_map from, tensor_map weight, T *to,
#ifdef HAS_BIAS
                                                          const BIAS *bias,
#endif
#ifdef ADDS
                                                          const f32 *parts, T *sums, adds_shape adds,
#endif
                                                          conv_shape s)
{
    if (thread_x() == 0) {
        ring_init(&smem->ring, WGS * LOADERS);
        mbarrier_fence_init();
        tensor_map_prefetch(&from);
        tensor_map_prefetch(&weight);
    }
    if (s.box_w * s.box_h * s.box_n < BM)
        clear_rest(&s);
    barrier();
    meet_loaders();
    next_kernel_launch();
    if (warp() >= WGS * 4) {
        if (RESIDENT == 1)
            registers_less(PRODUCER_REGISTERS);
        if (thread_x() == WGS * 128)
            produce(&from, &weight, &s);
        if (SHARE > 1) {
            meet_cluster();
            meet_cluster();
        }
    } else {
        if (RESIDENT == 1)
            registers_more(CONSUMER_REGISTERS);
        if (!IS_LATE)
            previous_kernel_wait(); // for a bias, and for tiles without a step
        u32 group = warp() / 4;
        stage *first = &smem->stages[0];
        consumer c = {.a = tile_operand_block(&first->a, group * BLOCKS), .b = weights_operand(&first->b)};
        for (u32 t = block_x(); t < s.tiles; t += grid_dim_x()) {
            patch at = patch_of(&s, t, 0);
            range r = steps_of(&s, at);
            accumulators acc;
            multiply_tile(&acc, &c, r.end - r.first);
            if (SHARE > 1) // no warpgroup reads a stage any more
                barrier_sync(1, WGS * 128);
#pragma unroll
            for (u32 i = 0; i < BLOCKS; i++) {
                u32 row = (group * BLOCKS + i) * 64;
                if (SHARE > 1)
                    put_partial(&acc[i], row, (f32 *)smem);
                else
                    store_rows(&acc[i], &s, at, row + warp() % 4 * 16, to, BIAS_OR_NONE);
            }
        }
        if (SHARE > 1) {
            meet_cluster();
            store_share(&s, block_x(), to, BIAS_OR_NONE);
            meet_cluster();
        }
        if (IS_LATE)
            previous_kernel_wait();
#ifdef ADDS
        add_parts(parts, sums, &adds);
#endif
    }
    meet_loaders();
}
