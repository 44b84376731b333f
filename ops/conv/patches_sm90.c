// Convolutions with a window of several taps and stride 1 for Hopper (sm_90a), as implicit_sm90.c, but
// what the windows of a tile read is loaded once for all taps.
//
// A tile is PATCHES patches of 8 x 8 places. For 64 channels a patch is loaded with what its windows
// reach beyond it: HALO_W x HALO_H lines of 128 bytes. Eight places of a row are eight neighbouring
// lines, a row is HALO_W lines behind the one before: for each tap wgmma reads the same lines,
// beginning at another one. The swizzle goes by the address, so any line may be the first. Weights
// come in a ring of their own, one tap after the other.
#include "sm90.h"

tune(PATCHES, 2, 1, 3, 4);              // of 64 places each
tune(HALO_W, 10, 8, 9, 11, 12, 13, 14); // lines of a patch's row
tune(HALO_H, 10, 8, 9, 11, 12, 13, 14);

// --- shared memory
enum {
    BM = PATCHES * 64,
    BLOCKS = PATCHES / WGS, // of a warpgroup
    LINES = HALO_W * HALO_H,
    PATCH_BYTES = (LINES * 128 + 1023) / 1024 * 1024,
    A_BYTES = PATCHES * PATCH_BYTES,
    A_STAGES = A_BYTES * 3 <= 72 * 1024 ? 3 : 2,
    B_BYTES = BN * 128,
    SHARED_LIMIT = 232448 - 2048,
    STAGING_BYTES = SHARE > 1 ? 0 : WGS * 4 * 2048,
    FIT = (SHARED_LIMIT - STAGING_BYTES - A_STAGES * A_BYTES) / B_BYTES,
    B_STAGES = FIT < 8 ? FIT : 8
};
ring_type(a_ring, A_STAGES);
ring_type(b_ring, B_STAGES);

typedef struct layout { // SHARE: after the last product weights and patches are this block's sums
    b_tile b[B_STAGES];
    _Alignas(1024) u8 a[A_STAGES][A_BYTES];
    u8 staging[STAGING_BYTES + 16];
    a_ring whole;
    b_ring taps;
} layout;

_Alignas(1024) shared layout smem[];

enum { SHARED_BYTES = sizeof(layout), THREADS = 128 * WGS + 128 };
static_assert(SHARE == 1 || B_STAGES * B_BYTES + A_STAGES * A_BYTES >= BM * BN * 4, "sums have room");
#include "sm90_share.h"

// --- tiles: the patches of a phase are numbered along rows, columns and images
typedef struct patch { // its first place, its first channel, and its phase
    u32 w, h, n, channel, phase;
} patch;

// The patch of tile t that has row `row`.
static patch patch_of(const conv_shape *s, u32 t, u32 row)
{
    turn r = turn_of(s, t);
    u32 tile = r.number / s->tiles_c, number = tile * PATCHES + row / 64;
    u32 across = phase_of(s, r.phase, tiles_w), down = phase_of(s, r.phase, tiles_h);
    u32 line = number / across, image = line / down;
    return (patch){(number - line * across) * 8, (line - image * down) * 8, image, (r.number - tile * s->tiles_c) * BN,
                   r.phase};
}

// --- the producer
static void produce(const tensor_map *from, const tensor_map *weight, const conv_shape *s)
{
    ring_slot a = {0, RING_PRODUCER}, b = {0, RING_PRODUCER};
    range r = range_of(s->blocks);
    u32 group = block_y();
    if (!IS_LATE)
        previous_kernel_wait();
    for (u32 t = block_x(); t < s->tiles; t += grid_dim_x()) {
        patch first = patch_of(s, t, 0);
        u32 taps_w = phase_of(s, first.phase, taps_w), taps_h = phase_of(s, first.phase, taps_h);
        i32 pad_w = phase_of(s, first.phase, pad_w), pad_h = phase_of(s, first.phase, pad_h);
        i32 tap_first = phase_of(s, first.phase, tap_first);
        for (u32 block = r.first; block < r.end; block++) {
            ring_acquire(&smem->whole, a, PATCHES * LINES * 128);
#pragma unroll
            for (u32 p = 0; p < PATCHES; p++) {
                patch at = patch_of(s, t, p * 64); // one after the last image is zeros
                tensor_load_4d((T *)(smem->a[a.stage] + p * PATCH_BYTES), from, (i32)(group * s->terms + block * K_TILE),
                               (i32)at.w - pad_w, (i32)at.h - pad_h, (i32)at.n, ring_full(&smem->whole, a));
            }
            a = ring_next(&smem->whole, a);
            for (u32 y = 0; y < taps_h; y++)
                for (u32 x = 0; x < taps_w; x++) {
                    ring_acquire(&smem->taps, b, B_BYTES);
                    load_weights(&smem->b[b.stage], weight, s, block,
                                 tap_first + (i32)x * s->tap_w + (i32)y * s->tap_h, first.channel,
                                 ring_full(&smem->taps, b));
                    b = ring_next(&smem->taps, b);
                }
        }
    }
}

// --- consumers
typedef f32 accumulators[BLOCKS][BN / 2];

typedef struct consumer {
    ring_slot a, b;
    u64 lines;      // the first patch of this warpgroup, in the first stage
    mma_operand of; // weights in the first stage
} consumer;

// The operand that begins at a line of shared memory, and whose groups of eight are HALO_W lines apart.
static u64 lines_of(const u8 *at)
{
    u64 plain = wgmma_k_major((const T *)at, 128);
    return (plain & ~((u64)0x3fff << 32)) | (u64)(HALO_W * 128 / 16) << 32;
}

static void multiply_tile(accumulators *acc, consumer *c, const conv_shape *s, u32 taps_w, u32 taps_h, u32 blocks)
{
    bool is_leader = thread_x() % 128 == 0, adds = false;
    ring_slot b_before = {0, 0}, a_before = {0, 0};
    bool has_b = false, has_a = false;
    for (u32 block = 0; block < blocks; block++) {
        ring_wait_full(&smem->whole, c->a);
        for (u32 y = 0; y < taps_h; y++)
            for (u32 x = 0; x < taps_w; x++) {
                ring_wait_full(&smem->taps, c->b);
                u32 line = y * (u32)s->dilation_h * HALO_W + x * (u32)s->dilation_w;
                u64 a = wgmma_step(c->lines, c->a.stage * A_BYTES + line * 128);
                mma_operand b = operand_move(c->of, c->b.stage * B_BYTES);
                wgmma_fence();
#pragma unroll
                for (u32 k = 0; k < 4; k++)
#pragma unroll
                    for (u32 i = 0; i < BLOCKS; i++)
                        MMA((*acc)[i], wgmma_step(a, i * PATCH_BYTES + k * 32), operand_at(b, 0, k), adds || k != 0);
                wgmma_commit();
                adds = true;
                wgmma_wait(1);
                if (has_b && is_leader)
                    ring_release(&smem->taps, b_before);
                if (has_a && is_leader)
                    ring_release(&smem->whole, a_before);
                has_a = false;
                has_b = true;
                b_before = c->b;
                c->b = ring_next(&smem->taps, c->b);
            }
        a_before = c->a;
        has_a = true;
        c->a = ring_next(&smem->whole, c->a);
    }
    wgmma_wait(0);
    if (is_leader) {
        ring_release(&smem->taps, b_before);
        ring_release(&smem->whole, a_before);
    }
}

// The place of row `row` of a tile, which is in the patch `at`; false: there is none.
static bool place_of(const conv_shape *s, patch at, u32 row, u32 place[3])
{
    place[0] = at.w + row % 8;
    place[1] = at.h + row % 64 / 8;
    place[2] = at.n;
    return place[0] < phase_of(s, at.phase, to_w) && place[1] < phase_of(s, at.phase, to_h) && place[2] < s->to_n;
}

#include "sm90_store.h"
#ifdef HAS_BIAS
#    define BIAS_OR_NONE bias
#else
#    define BIAS_OR_NONE ((const BIAS *)0)
#endif

// SHARE: a block has one tile.
kernel block(THREADS) cluster(1, 1, SHARE) void conv_patches(tensor_map from, tensor_map weight, T *to,
#ifdef HAS_BIAS
                                                             const BIAS *bias,
#endif
                                                             conv_shape s)
{
    if (thread_x() == 0) {
        ring_init(&smem->whole, WGS);
        ring_init(&smem->taps, WGS);
        mbarrier_fence_init();
        tensor_map_prefetch(&from);
        tensor_map_prefetch(&weight);
    }
    barrier();
    next_kernel_launch();
    if (warp() >= WGS * 4) {
        registers_less(PRODUCER_REGISTERS);
        if (thread_x() == WGS * 128)
            produce(&from, &weight, &s);
        if (SHARE > 1) {
            meet_cluster();
            meet_cluster();
        }
    } else {
        registers_more(CONSUMER_REGISTERS);
        if (!IS_LATE)
            previous_kernel_wait();
        u32 group = warp() / 4;
        consumer c = {.lines = lines_of(smem->a[0] + group * BLOCKS * PATCH_BYTES), .of = weights_operand(&smem->b[0])};
        range r = range_of(s.blocks);
        for (u32 t = block_x(); t < s.tiles; t += grid_dim_x()) {
            accumulators acc;
            u32 phase = turn_of(&s, t).phase;
            multiply_tile(&acc, &c, &s, phase_of(&s, phase, taps_w), phase_of(&s, phase, taps_h), r.end - r.first);
            if (SHARE > 1) // no warpgroup reads a stage any more
                barrier_sync(1, WGS * 128);
#pragma unroll
            for (u32 i = 0; i < BLOCKS; i++) {
                u32 row = (group * BLOCKS + i) * 64;
                if (SHARE > 1)
                    put_partial(&acc[i], row, (f32 *)smem);
                else
                    store_rows(&acc[i], &s, patch_of(&s, t, row), row + warp() % 4 * 16, to, BIAS_OR_NONE);
            }
        }
        if (SHARE > 1) {
            meet_cluster();
            store_share(&s, block_x(), to, BIAS_OR_NONE);
            meet_cluster();
        }
        if (IS_LATE)
            previous_kernel_wait();
    }
}
