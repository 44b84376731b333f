// Convolutions for Hopper (sm_90a): a matrix product whose left operand is never stored. A row of it
// is a place of the result, its columns are taps and channels.
//
// A tile is a box of places (columns, rows, images) and BN channels. The tensor map of `from` has the
// same box: for each tap and 64 channels the copy engine loads what the places read there, and zeros
// where a window reaches beyond the tensor. Strides of the window are the map's element strides. One
// thread keeps a ring of stages filled, WGS warpgroups multiply, as in ops/matmul/gemm_sm90.c.
//
// Channels of all tensors are contiguous. Weights are packed: [channel of the results, tap, channel of
// the terms]. The host says which tap of them is the first, and the steps to the next: the way from
// the small tensor to the large one takes them backwards, and with a stride some of them for some
// places only.
// PARTS: the sum is cut along the grid's z, and each part stores f32; implicit_add.c adds them.
#include <kiln/pack.h>
#include <kiln/tile.h>

tune(BM, 128, 64, 192, 256); // places of a tile
tune(BN, 128, 64, 192, 256); // channels of a tile
tune(WGS, 2, 1, 3);          // warpgroups that multiply
tune(RESIDENT, 1, 2);        // blocks of a multiprocessor

#ifdef T_bf16
#    define T    bf16
#    define MMA  wgmma_bf16
#    define PAIR pack_bf16
#else
#    define T    f16
#    define MMA  wgmma_f16
#    define PAIR pack_f16
#endif
#ifndef BIAS
#    define BIAS f32
#endif
#include "activate.h"
#include "sm90.h"

// --- shared memory
enum {
    K_TILE = 64, // channels of a stage: 128 bytes
    BLOCKS = BM / (64 * WGS)
};
tile_type(a_tile, T, BM, K_TILE, 128);
tile_type(b_tile, T, BN, K_TILE, 128);
tile_type(slab, T, 16, 64, 128); // results of a warp
typedef struct stage {
    a_tile a;
    b_tile b;
} stage;

enum {
    SHARED_LIMIT = (RESIDENT == 2 ? 113 * 1024 : 232448) - 1024,
    STAGING_BYTES = HAS_PARTS ? 0 : WGS * 4 * sizeof(slab),
    STAGE_BYTES = sizeof(stage),
    FIT = (SHARED_LIMIT - 1024 - STAGING_BYTES) / STAGE_BYTES,
    STAGES = FIT < 2 ? 2 : FIT < 8 ? FIT : 8
};
ring_type(stage_ring, STAGES);

typedef struct layout {
    stage stages[STAGES];
    u8 staging[STAGING_BYTES + 16];
    stage_ring ring;
} layout;

_Alignas(1024) shared layout smem[];

enum {
    SHARED_BYTES = sizeof(layout), // the host reads it
    THREADS = 128 * WGS + (RESIDENT == 1 ? 128 : 32),
    PRODUCER_REGISTERS = WGS == 3 ? 32 : 40,
    CONSUMER_REGISTERS = WGS == 3 ? 160 : 232
};

// --- tiles
typedef struct patch { // the first place of a tile, and its first channel
    u32 w, h, n, channel;
} patch;

static patch patch_of(const conv_shape *s, u32 t)
{
    u32 places = t / s->tiles_c, rows = places / s->tiles_w, images = rows / s->tiles_h;
    return (patch){(places - rows * s->tiles_w) * s->box_w, (rows - images * s->tiles_h) * s->box_h,
                    images * s->box_n, (t - places * s->tiles_c) * BN};
}

typedef struct range { // of steps: a step is 64 channels of a tap
    u32 first, end;
} range;

static range range_of(const conv_shape *s)
{
    u32 all = s->taps * s->blocks, part = block_z();
    return HAS_PARTS ? (range){all * part / grid_dim_z(), all * (part + 1) / grid_dim_z()} : (range){0, all};
}

// --- the producer
static void produce(const tensor_map *from, const tensor_map *weight, const conv_shape *s)
{
    ring_slot slot = {0, RING_PRODUCER};
    range r = range_of(s);
    u32 group = block_y();
    previous_kernel_wait();
    for (u32 t = block_x(); t < s->tiles; t += grid_dim_x()) {
        patch at = patch_of(s, t);
        u32 tap = r.first / s->blocks, block = r.first - tap * s->blocks;
        u32 y = tap / max(s->taps_w, 1u), x = tap - y * s->taps_w;
        for (u32 step = r.first; step < r.end; step++) {
            stage *to = &smem->stages[slot.stage];
            ring_acquire(&smem->ring, slot, s->loaded);
            tensor_load_4d(to->a.panel[0], from, (i32)(group * s->terms + block * K_TILE),
                           (i32)at.w * s->stride_w - s->pad_w + (i32)x * s->dilation_w,
                           (i32)at.h * s->stride_h - s->pad_h + (i32)y * s->dilation_h, (i32)at.n,
                           ring_full(&smem->ring, slot));
            tensor_load_3d(to->b.panel[0], weight, (i32)(block * K_TILE),
                           s->tap_first + (i32)x * s->tap_w + (i32)y * s->tap_h,
                           (i32)(group * s->per_group + at.channel), ring_full(&smem->ring, slot));
            slot = ring_next(&smem->ring, slot);
            if (++block == s->blocks) {
                block = 0;
                if (++x == s->taps_w) {
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
    bool is_leader = thread_x() % 128 == 0;
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
        if (k != 0 && is_leader)
            ring_release(&smem->ring, before);
        before = c->slot;
        c->slot = ring_next(&smem->ring, c->slot);
    }
    wgmma_wait(0);
    if (is_leader)
        ring_release(&smem->ring, before);
}

// --- results
// Where row `row` of a tile has its place; false: there is none.
static bool place_of(const conv_shape *s, patch at, u32 row, u32 place[3])
{
    u32 line = row / s->box_w, image = line / s->box_h;
    place[0] = at.w + row - line * s->box_w;
    place[1] = at.h + line - image * s->box_h;
    place[2] = at.n + image;
    return image < s->box_n && place[0] < s->to_w && place[1] < s->to_h && place[2] < s->to_n;
}

#include "sm90_store.h"
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

kernel block(THREADS) void conv_sm90(tensor_map from, tensor_map weight,
#if HAS_PARTS
                                     f32 *sums,
#else
                                     T *to,
#endif
#ifdef HAS_BIAS
                                     const BIAS *bias,
#endif
                                     conv_shape s)
{
    if (thread_x() == 0) {
        ring_init(&smem->ring, WGS);
        mbarrier_fence_init();
        tensor_map_prefetch(&from);
        tensor_map_prefetch(&weight);
    }
    if (s.box_w * s.box_h * s.box_n < BM)
        clear_rest(&s);
    barrier();
    next_kernel_launch();
    if (warp() >= WGS * 4) {
        if (RESIDENT == 1)
            registers_less(PRODUCER_REGISTERS);
        if (thread_x() == WGS * 128)
            produce(&from, &weight, &s);
        return;
    }
    if (RESIDENT == 1)
        registers_more(CONSUMER_REGISTERS);
    previous_kernel_wait(); // for a bias, and for tiles without a step
    u32 group = warp() / 4;
    stage *first = &smem->stages[0];
    consumer c = {.a = tile_operand_block(&first->a, group * BLOCKS), .b = tile_operand(&first->b)};
    range r = range_of(&s);
    for (u32 t = block_x(); t < s.tiles; t += grid_dim_x()) {
        patch at = patch_of(&s, t);
        accumulators acc;
        multiply_tile(&acc, &c, r.end - r.first);
#pragma unroll
        for (u32 i = 0; i < BLOCKS; i++) {
            u32 row = (group * BLOCKS + i) * 64 + warp() % 4 * 16;
#if HAS_PARTS
            store_sums(&acc[i], &s, at, at.channel, row, sums);
#else
            store_rows(&acc[i], &s, at, at.channel, row, to, BIAS_OR_NONE);
#endif
        }
    }
}
