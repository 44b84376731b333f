// C[M,N] = A * B for Hopper (sm_90a): persistent blocks, one warp or warpgroup that keeps a ring of
// shared memory stages filled through the copy engine, and WGS warpgroups that multiply from it.
//
// One source for all types and layouts: -D TYPE_bf16 (f16, tf32, e4m3, s8), -D OUT_bf16 (f16, f32,
// s32), -D A_MN / -D B_MN for operands stored [K,M] / [K,N] instead of [M,K] / [N,K]; the tile and
// the ring are tunables. A stage holds 128 bytes of K. The host (matmul.c) makes the tensor maps; with
// -D ASYNC_OUT there is one of the result, too.
//
// With SPLIT_K the blocks of a cluster each sum a part of K, and there is one tile for each cluster.
// With -D NARROW_BN=128 the last columns of tiles are narrower than BN (PINGPONG only): the host picks
// how many, so that all blocks get about as much to multiply. With -D B_TAIL, for a BN that is no
// multiple of 64 and a B that is read across K, loads keep to multiples of 64 (HELD only).
#include <kiln/kernel.h>

tune(BM, 128, 64, 192, 256);
tune(BN, 256, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240);
tune(STAGES, 4, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24);
tune(WGS, 2, 1, 3);        // warpgroups that multiply
tune(PINGPONG, 0, 1);      // two that take turns: one multiplies while the other stores its tile
tune(HELD, 0, 1);          // a tile's results leave while the next tile is multiplied
tune(LOADERS, 4, 1);       // warps that load; a whole warpgroup of them gives its registers away
tune(GROUP, 16, 1, 2, 4, 8, 32);
tune(SPLIT_K, 1, 2, 4, 8); // blocks that share the sum of a tile
tune(EARLY, 0, 1);         // A is constant: its loads begin before the kernel before this one ends
tune(SWAP, 0, 1);          // the result is stored [N,M]: the host has exchanged the operands

#include "gemm_types.h"

#if defined(TYPE_f16)
#define MULTIPLY wgmma_f16
#elif defined(TYPE_tf32)
#define MULTIPLY wgmma_tf32
#elif defined(TYPE_e4m3)
#define MULTIPLY wgmma_e4m3
#elif defined(TYPE_s8)
#define MULTIPLY wgmma_s8
#else
#define MULTIPLY wgmma_bf16
#endif

// What MULTIPLY takes last: only 16-bit operands have a choice.
#if defined(TYPE_tf32) || defined(TYPE_e4m3) || defined(TYPE_s8)
#define LAYOUT
#else
#define LAYOUT , (A_IS_MN ? wgmma_a_mn : 0) | (B_IS_MN ? wgmma_b_mn : 0)
#endif

#if defined(NARROW_BN)
enum { NARROW = NARROW_BN };
#else
enum { NARROW = 0 };
#endif
#if defined(B_TAIL)
enum { HAS_TAIL = 1 };
#else
enum { HAS_TAIL = 0 };
#endif

#include "gemm_sm90_out.h"

enum {
    K_STEP = 128 / sizeof(in_t), // elements of a stage along K
    A_BYTES = BM * 128,
    B_BYTES = (B_IS_MN ? (BN + 63) / 64 * 64 : BN) * 128,
    NARROW_BYTES = (B_IS_MN ? (NARROW + 63) / 64 * 64 : NARROW) * 128, // of B, for a narrow tile
    STAGE_BYTES = A_BYTES + B_BYTES,
    A_NEXT = A_IS_MN ? 2048 : 32, // bytes from one k-step of an instruction to the next
    B_NEXT = B_IS_MN ? 2048 : 32,
    WAY_OUT_AT = STAGES * STAGE_BYTES,
    BARRIERS_AT = WAY_OUT_AT + WAY_OUT_BYTES,
    OWNERS = PINGPONG ? 1 : WGS,         // warpgroups that share a tile
    TILES = BM / (64 * OWNERS),          // of 64 rows, per warpgroup
    IS_WIDE = TILES * BN / 2 + (HELD ? BN / 4 : 0) > 160, // accumulators of a thread, and what it holds
    LOADER_REGISTERS = WGS == 3 ? 32 : IS_WIDE ? 24 : 40,
    OTHER_REGISTERS = WGS == 3 ? 160 : IS_WIDE ? 240 : 232,
    THREADS = 128 * WGS + 32 * LOADERS
};

_Alignas(1024) shared u8 smem[];

typedef struct ring {
    u32 stage, phase;
} ring;

static void advance(ring *r)
{
    r->stage++;
    if (r->stage == STAGES) {
        r->stage = 0;
        r->phase ^= 1;
    }
}

static mbarrier *full_of(u32 stage)
{
    return (mbarrier *)(smem + BARRIERS_AT) + stage;
}

static mbarrier *empty_of(u32 stage)
{
    return (mbarrier *)(smem + BARRIERS_AT) + STAGES + stage;
}

// A warpgroup with tiles of its own begins one when the other has seen its last stage come in: the
// ring tells positions apart by one bit only.
static mbarrier *turn_of(u32 group)
{
    return (mbarrier *)(smem + BARRIERS_AT) + 2 * STAGES + group;
}

// Hears of the shares that the other blocks of a sum send.
static mbarrier *received(void)
{
    return (mbarrier *)(smem + BARRIERS_AT) + 2 * STAGES;
}

#include "gemm_sm90_held.h"
#include "gemm_sm90_load.h"

// --- the consumers
static u64 operand_of(const u8 *tile, bool is_mn)
{
    return is_mn ? wgmma_mn_major(tile, 128, 8192) : wgmma_k_major(tile, 128);
}

// All of a tile's accumulators on their way out; c.row and c.column are the tile's, `width` is BN or
// NARROW.
static void finish_tile(acc_t (*acc)[TILES][BN / 2], corner c, u32 width)
{
    u32 first = PINGPONG ? 0 : warp() / 4 * TILES * 64; // of this warpgroup's rows
    acc_t *part = (acc_t *)(smem + WAY_OUT_AT);
    u8 *slabs = smem + WAY_OUT_AT + warp() / 4 * 8 * SLAB;
#pragma unroll
    for (u32 i = 0; i < TILES; i++) {
        corner own = c;
        own.row += first + i * 64;
        if (HAS_PARTS)
            put_part(&(*acc)[i], first + i * 64, part);
        else if (IS_TURNED)
            store_turned(&(*acc)[i], own, slabs, width);
        else
            store_tile(&(*acc)[i], own, slabs, width);
    }
    if (HAS_PARTS && SPLIT_K == 1) {
        barrier_sync(1, WGS * 128);
        store_share(c, part, 0);
        barrier_sync(1, WGS * 128);
    }
}

// What a warpgroup keeps from tile to tile.
typedef struct consumer {
    u32 group;
    ring r;
    bool is_leader;
    u64 a0, b0;           // operands in the first stage
    u32 held[HELD_WORDS]; // of the tile before
    corner held_at;
} consumer;

// The sum of a tile along K, over the next stages of the ring; `width` is BN or NARROW. Meanwhile
// the slabs that are held leave.
static void sum_tile(acc_t (*acc)[TILES][BN / 2], consumer *own, u32 held_slabs, u32 count, u32 width)
{
    u32 before = 0; // the stage that is still being read
    for (u32 k = 0; k < count; k++) {
        mbarrier_wait(full_of(own->r.stage), own->r.phase);
        if (PINGPONG && k == count - 1 && own->is_leader)
            mbarrier_arrive(turn_of(own->group ^ 1));
        u64 a = wgmma_step(own->a0, own->r.stage * STAGE_BYTES), b = wgmma_step(own->b0, own->r.stage * STAGE_BYTES);
        wgmma_fence();
#pragma unroll
        for (u32 s = 0; s < 4; s++)
#pragma unroll
            for (u32 i = 0; i < TILES; i++) {
                u64 left = wgmma_step(a, s * A_NEXT + i * 8192), right = wgmma_step(b, s * B_NEXT);
                if (width == BN)
                    MULTIPLY((*acc)[i], left, right, k != 0 || s != 0 LAYOUT);
                else // into the first of the accumulators
                    MULTIPLY(*(acc_t(*)[(NARROW ? NARROW : BN) / 2]) (*acc)[i], left, right, k != 0 || s != 0 LAYOUT);
            }
        wgmma_commit();
        if (HELD)
            send_held_slabs(&own->held, k, min(k + 1, held_slabs), own->held_at);
        wgmma_wait(1);
        if (k != 0 && own->is_leader)
            mbarrier_arrive(empty_of(before));
        before = own->r.stage;
        advance(&own->r);
    }
    wgmma_wait(0);
    if (own->is_leader)
        mbarrier_arrive(empty_of(before));
}

static void consume(corner c, work w)
{
    u32 group = warp() / 4, turn = group ^ 1;
    u32 position = PINGPONG ? group * w.count : 0; // in the ring, of a tile's first stage
    consumer own = {.group = group,
                    .is_leader = thread_x() % 128 == 0,
                    .a0 = operand_of(smem + (PINGPONG ? 0 : group * (TILES * 8192)), A_IS_MN),
                    .b0 = operand_of(smem + A_BYTES, B_IS_MN),
                    .held_at = c};
    u32 held_slabs = 0;
    for (u32 t = first_tile() + (PINGPONG ? group * tile_step() : 0); t < w.rows * w.columns;
         t += tile_step() * (PINGPONG ? WGS : 1)) {
        u32x2 at = corner_of(t, w);
        acc_t acc[TILES][BN / 2];
        if (PINGPONG) {
            own.r = (ring){position % STAGES, position / STAGES & 1};
            position += WGS * w.count;
            mbarrier_wait(turn_of(group), turn);
            turn ^= 1;
        }
        c.row = at.x;
        c.column = at.y;
        if (is_narrow(w, at.y)) {
            sum_tile(&acc, &own, 0, w.count, NARROW);
            finish_tile(&acc, c, NARROW);
            continue;
        }
        sum_tile(&acc, &own, held_slabs, w.count, BN);
        if (!HELD) {
            finish_tile(&acc, c, BN);
            continue;
        }
        send_held_slabs(&own.held, w.count, held_slabs, own.held_at);
        own.held_at = c;
        own.held_at.row += group * 64;
        held_slabs = HELD_SLABS;
        hold(&acc[0], own.held_at, &own.held);
    }
    if (HELD)
        send_held_slabs(&own.held, 0, held_slabs, own.held_at);
    if (IS_ASYNC)
        bulk_wait(0);
}

// --- the whole
static void start(const tensor_map *a, const tensor_map *b)
{
    if (thread_x() == 0) {
#pragma unroll
        for (u32 s = 0; s < STAGES; s++) {
            mbarrier_init(full_of(s), 1);
            mbarrier_init(empty_of(s), OWNERS);
        }
        if (PINGPONG) {
            mbarrier_init(turn_of(0), 1);
            mbarrier_init(turn_of(1), 1);
        }
        if (SPLIT_K > 1)
            mbarrier_init(received(), 1);
        mbarrier_fence_init();
        tensor_map_prefetch(a);
        tensor_map_prefetch(b);
    }
    if (SPLIT_K > 1) {
        warp_sync();
        cluster_arrive_relaxed();
    }
    barrier();
}

// Adds the parts of a sum. No block leaves while others may still read its shared memory, or signal
// its barrier.
static void end(corner c, work w)
{
    acc_t *part = (acc_t *)(smem + WAY_OUT_AT);
    if (SPLIT_K == 1)
        return;
    warp_sync();
    cluster_wait(); // all of them have begun
    if (warp() < WGS * 4) {
        u32x2 at = corner_of(first_tile(), w);
        c.row = at.x;
        c.column = at.y;
        fence_async();
        barrier_sync(1, WGS * 128);
        send_shares(part, w.part, received());
        mbarrier_wait(received(), 0);
        store_share(c, part, w.part);
    }
    warp_sync();
    cluster_arrive_relaxed();
    cluster_wait();
}

kernel block(THREADS) cluster(SPLIT_K) void gemm(tensor_map a, tensor_map b,
#if defined(NARROW_BN) || defined(B_TAIL)
                                                 tensor_map b_other,
#endif
#if defined(ASYNC_OUT)
                                                 tensor_map result,
#if defined(B_TAIL)
                                                 tensor_map result_tail,
#endif
#else
                                                 out_t *out,
#endif
#if HAS_BIAS
                                                 const f32 *bias,
#endif
                                                 u32 m, u32 n, u32 tile_rows, u32 tile_columns, u32 wide, u32 shift,
                                                 u32 steps, u32 loaded)
{
    work w = {.rows = tile_rows, .columns = tile_columns, .wide = wide, .shift = shift};
    w.count = steps;
    w.loaded = loaded;
    corner c = {.rows = m, .columns = n};
#if defined(ASYNC_OUT)
    c.result = &result;
#if defined(B_TAIL)
    c.tail = &result_tail;
#endif
#else
    c.out = out;
#endif
#if HAS_BIAS
    c.bias = bias;
#endif
    if (SPLIT_K > 1) {
        w.part = cluster_rank();
        w.first = steps * w.part / SPLIT_K;
        w.count = steps * (w.part + 1) / SPLIT_K - w.first;
    }
    u32x2 at = corner_of(first_tile(), w); // divides, while the barriers are made
    start(&a, &b);
    if (warp() < WGS * 4) {
        if (LOADERS == 4)
            registers_more(OTHER_REGISTERS);
        next_kernel_launch();
        if (thread_x() == 0)
            expect_first(w, at);
        if (HAS_BIAS) // what the producer loads, it waits for
            previous_kernel_wait();
        consume(c, w);
    } else {
        if (LOADERS == 4)
            registers_less(LOADER_REGISTERS);
        if (thread_x() == WGS * 128)
#if defined(NARROW_BN) || defined(B_TAIL)
            produce(&a, &b, &b_other, w, at, n);
#else
            produce(&a, &b, &b, w, at, n);
#endif
    }
    end(c, w);
}
