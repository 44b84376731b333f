// The gradient by the weights of convolutions for Hopper (sm_90a): a matrix product over all places
// of the small tensor, [channels of the small tensor, places] times [places, taps and channels of the
// large one]. Both operands lie across the sum, which the tensor cores take as it is.
//
// A stage is PLACES places: boxes of columns, rows and images that cut the small tensor evenly, loaded
// by the copy engine. The columns of the product are panels of 64 channels of one tap; the box of the
// large tensor is moved by the tap. A box after the last one is outside both tensors: zeros.
//
// ROW: the windows have one element, and all places are one row (host_sm90_weights.c): a stage is 64 of them. LOADERS
// blocks of a cluster have tiles of the same panels, and each loads some of these for all.
//
// The sum is cut into chunks along the grid's z. SHARE blocks of a cluster add theirs in shared memory;
// PARTS: there are several such clusters, which store f32 [part, channel, tap, channel], as
// implicit_weights.c does, and weights_add.c adds them.
#include <kiln/pack.h>
#include <kiln/tile.h>

tune(BM, 128, 64);           // channels of the small tensor
tune(BN, 256, 64, 128, 192); // 64 channels of a tap each
tune(SHARE, 1, 2, 3, 4, 5, 6, 7, 8);
tune(LOADERS, 1, 2, 4); // or along its x, without SHARE
#ifdef PARTS
#    define HAS_PARTS 1
#else
#    define HAS_PARTS 0
#endif
#ifdef ROW
#    define IS_ROW 1
#else
#    define IS_ROW 0
#endif
#ifdef T_bf16
#    define T                  bf16
#    define MMA(d, a, b, adds) wgmma_bf16(d, a, b, adds, wgmma_a_mn | wgmma_b_mn)
#    define PAIR               pack_bf16
#else
#    define T                  f16
#    define MMA(d, a, b, adds) wgmma_f16(d, a, b, adds, wgmma_a_mn | wgmma_b_mn)
#    define PAIR               pack_f16
#endif
#include "weights_put.h"

// --- what the host says
typedef struct weights_shape {
    u32 tiles_n;                    // tiles of panels
    u32 box_w, box_h, box_n, boxes; // places of a box; boxes of a stage
    u32 across, down;               // boxes along columns and rows
    u32 stages;                     // of the sum
    u32 to_n;                       // images
    u32 taps_w, taps, blocks;       // taps of a row, of a window; 64 channels each
    i32 stride_w, stride_h, pad_w, pad_h, dilation_w, dilation_h;
    u32 per_group, terms;           // channels of a group: of the small tensor, of the large one
    weights_to to;
} weights_shape;

// --- shared memory
enum { PLACES = 64, WGS = BM / 64, PANELS = BN / 64 };
tile_type(a_tile, T, PLACES, BM, 128);
tile_type(b_tile, T, PLACES, BN, 128);
typedef struct stage {
    a_tile a;
    b_tile b;
} stage;

enum {
    SHARED_LIMIT = 232448 - 1024,
    STAGE_BYTES = sizeof(stage),
    FIT = (SHARED_LIMIT - 1024) / STAGE_BYTES,
    STAGES = FIT < 8 ? FIT : 8
};
ring_type(stage_ring, STAGES);

typedef struct layout { // after the last product the stages are this block's sums
    stage stages[STAGES];
    stage_ring ring;
} layout;

_Alignas(1024) shared layout smem[];

enum { SHARED_BYTES = sizeof(layout), THREADS = 128 * WGS + 128 };
#include "sm90_share.h"

typedef struct range { // of stages
    u32 first, end;
} range;

static range range_of(const weights_shape *s)
{
    u32 chunk = block_z(), chunks = grid_dim_z();
    return (range){(u32)((u64)s->stages * chunk / chunks), (u32)((u64)s->stages * (chunk + 1) / chunks)};
}

// --- the producer
static void produce(const tensor_map *small, const tensor_map *large, const weights_shape *s, u32 channel, u32 panel)
{
    ring_slot slot = {0, RING_PRODUCER};
    range r = range_of(s);
    u32 box_rows = s->box_w * s->box_h * s->box_n, group = block_y();
    i32 shift_w[PANELS], shift_h[PANELS], first[PANELS];
#pragma unroll
    for (u32 p = 0; p < PANELS; p++) {
        u32 tap = min((panel + p) / s->blocks, s->taps - 1), y = tap / s->taps_w, x = tap - y * s->taps_w;
        shift_w[p] = (i32)x * s->dilation_w - s->pad_w;
        shift_h[p] = (i32)y * s->dilation_h - s->pad_h;
        first[p] = (i32)(group * s->terms + (panel + p) % s->blocks * 64);
    }
    previous_kernel_wait();
    next_kernel_launch(); // which may read what this one reads without waiting for it
    for (u32 step = r.first; step < r.end; step++) {
        stage *to = &smem->stages[slot.stage];
        mbarrier *full = ring_full(&smem->ring, slot);
        ring_acquire(&smem->ring, slot, STAGE_BYTES);
        for (u32 b = 0; b < s->boxes; b++) {
            u32 box = step * s->boxes + b, line = box / s->across, image = line / s->down;
            i32 w = (i32)((box - line * s->across) * s->box_w), h = (i32)((line - image * s->down) * s->box_h);
            i32 n = (i32)min(image * s->box_n, s->to_n); // beyond the last image there are zeros
            u32 row = b * box_rows;
#pragma unroll
            for (u32 p = 0; p < WGS; p++)
                tensor_load_4d(to->a.panel[p][row], small, (i32)(group * s->per_group + channel + p * 64), w, h, n, full);
#pragma unroll
            for (u32 p = 0; p < PANELS; p++)
                tensor_load_4d(to->b.panel[p][row], large, first[p], w * s->stride_w + shift_w[p],
                               h * s->stride_h + shift_h[p], n, full);
        }
        slot = ring_next(&smem->ring, slot);
    }
}

// The same where all places are one row.
static void produce_row(const tensor_map *small, const tensor_map *large, const weights_shape *s, u32 channel, u32 panel)
{
    ring_slot slot = {0, RING_PRODUCER};
    range r = range_of(s);
    u32 rank = LOADERS > 1 ? cluster_rank() : 0;
    previous_kernel_wait();
    next_kernel_launch();
    for (u32 step = r.first; step < r.end; step++) {
        stage *to = &smem->stages[slot.stage];
        mbarrier *full = ring_full(&smem->ring, slot);
        i32 place = (i32)(step * PLACES);
        ring_acquire(&smem->ring, slot, STAGE_BYTES);
#pragma unroll
        for (u32 p = 0; p < WGS; p++)
            tensor_load_2d(to->a.panel[p], small, (i32)(channel + p * 64), place, full);
#pragma unroll
        for (u32 p = 0; p < PANELS; p++) {
            i32 first = (i32)((panel + p) * 64);
            if (LOADERS == 1)
                tensor_load_2d(to->b.panel[p], large, first, place, full);
            else if (p % LOADERS == rank)
                tensor_load_all_2d(to->b.panel[p], large, first, place, full, (1u << LOADERS) - 1);
        }
        slot = ring_next(&smem->ring, slot);
    }
}

// --- consumers
static void multiply(f32 (*acc)[BN / 2], u32 group, u32 steps)
{
    bool is_leader = thread_x() % 128 == 0;
    ring_slot slot = {0, 0}, before = {0, 0};
    stage *first = &smem->stages[0];
    mma_operand a = tile_operand_block_transposed(&first->a, group), b = tile_operand_transposed(&first->b);
    for (u32 k = 0; k < steps; k++) {
        ring_wait_full(&smem->ring, slot);
        u32 offset = slot.stage * STAGE_BYTES;
        wgmma_fence();
#pragma unroll
        for (u32 q = 0; q < PLACES / 16; q++)
            MMA(*acc, operand_at(operand_move(a, offset), 0, q), operand_at(operand_move(b, offset), 0, q), k != 0 || q != 0);
        wgmma_commit();
        wgmma_wait(1);
        if (k != 0)
            ring_release_together(&smem->ring, before, LOADERS, is_leader);
        before = slot;
        slot = ring_next(&smem->ring, slot);
    }
    wgmma_wait(0);
    ring_release_together(&smem->ring, before, LOADERS, is_leader);
}

// --- results
static void put_eight(T *to, const weights_to *s, u32 row, u32 line, u32 channel, f32 (*sum)[8])
{
    u32 tap[3];
    tap_of(s, line, tap);
    T *out = to + (row * s->to[0] + tap[1] * s->to[3] + tap[2] * s->to[4]) + channel;
    if (s->is_whole) {
        if (row < s->rows)
            *(u32x4 *)out = (u32x4){PAIR((*sum)[0], (*sum)[1]), PAIR((*sum)[2], (*sum)[3]), PAIR((*sum)[4], (*sum)[5]),
                                    PAIR((*sum)[6], (*sum)[7])};
    } else {
#pragma unroll
        for (u32 i = 0; i < 8; i++)
            weights_put(to, s, row, line, channel + i, (*sum)[i]);
    }
}

// The rows of a tile that this block adds up.
static void store(const weights_shape *s, u32 channel, u32 panel,
#if HAS_PARTS
                  f32 *parts
#else
                  T *to
#endif
)
{
    enum { EIGHTS = BN / 8 };
    u32 rank = SHARE > 1 ? cluster_rank() : 0, group = block_y();
    u32 first = BM * rank / SHARE, count = (BM * (rank + 1) / SHARE - first) * EIGHTS;
    for (u32 i = thread_x(); i < count; i += WGS * 128) {
        u32 line = first + i / EIGHTS, column = i % EIGHTS * 8, row = channel + line;
        u32 at = panel + column / 64, tap = at / s->blocks, c = (at - tap * s->blocks) * 64 + column % 64;
        f32 sum[8];
        add_partials((f32 *)smem, line, column, &sum);
        if (row >= s->per_group || tap >= s->taps || c >= s->terms)
            continue;
#if HAS_PARTS
        u64 part = block_z() / SHARE, length = (u64)s->taps * s->terms;
        f32 *out = parts + ((part * grid_dim_y() + group) * s->per_group + row) * length + (u64)tap * s->terms + c;
        ((f32x4 *)out)[0] = (f32x4){sum[0], sum[1], sum[2], sum[3]};
        ((f32x4 *)out)[1] = (f32x4){sum[4], sum[5], sum[6], sum[7]};
#else
        put_eight(to, &s->to, group * s->per_group + row, tap, c, &sum);
#endif
    }
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

kernel block(THREADS) cluster(LOADERS, 1, SHARE) void conv_weights_sm90(tensor_map small, tensor_map large,
#if HAS_PARTS
                                                                  f32 *to,
#else
                                                                  T *to,
#endif
                                                                  weights_shape s)
{
    u32 team = block_x() / LOADERS, panel = team % s.tiles_n * PANELS;
    u32 channel = (team / s.tiles_n * LOADERS + block_x() % LOADERS) * BM;
    if (thread_x() == 0) {
        ring_init(&smem->ring, WGS * LOADERS);
        mbarrier_fence_init();
        tensor_map_prefetch(&small);
        tensor_map_prefetch(&large);
    }
    barrier();
    meet_loaders();
    if (warp() >= WGS * 4) {
        registers_less(40);
        if (thread_x() == WGS * 128 && IS_ROW)
            produce_row(&small, &large, &s, channel, panel);
        else if (thread_x() == WGS * 128)
            produce(&small, &large, &s, channel, panel);
        if (SHARE > 1) {
            meet_cluster();
            meet_cluster();
        }
    } else {
        registers_more(232);
        u32 group = warp() / 4;
        range r = range_of(&s);
        f32 acc[BN / 2];
        multiply(&acc, group, r.end - r.first);
        barrier_sync(1, WGS * 128); // no warpgroup reads a stage any more
        put_partial(&acc, group * 64, (f32 *)smem);
        previous_kernel_wait();
        if (SHARE > 1)
            meet_cluster();
        else
            barrier_sync(1, WGS * 128);
        store(&s, channel, panel, to);
        if (SHARE > 1)
            meet_cluster();
    }
    meet_loaders();
}
