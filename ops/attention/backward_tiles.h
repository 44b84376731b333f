// The tiles of attention backward (backward_sm90.c): where they lie in shared memory, the barriers
// that tell of them, the products of them, and P and dS, which are made in registers.
#include "strided.h"

tune(HD, 128, 64);
tune(CAUSAL, 0, 1);

#if defined(TYPE_f16)
#    define MULTIPLY wgmma_f16
#    define PACK     pack_f16
typedef f16 elem;
#else
#    define MULTIPLY wgmma_bf16
#    define PACK     pack_bf16
typedef bf16 elem;
#endif

enum {
    M = HD == 128 ? 64 : 128,     // queries of a block
    PINNED = HD == 64 && !CAUSAL, // see pin_p
    Q_STAGES = PINNED ? 3 : 4,
    PARTS = M / 64,           // scores are computed 64 queries at a time
    KEYS = 128,               // of a unit
    O_STAGES = 2,             // of dO and its row values; also the buffers of dS
    KV_BYTES = KEYS * HD * 2, // slabs of 64 columns, [128][64]
    Q_BYTES = M * HD * 2,     // the same, [M][64]
    Q_SLAB = M * 128,
    KV_SLAB = KEYS * 128,
    DS_BYTES = KEYS * M * 2, // slabs of 64 queries, [128 keys][64]
    ROW_BYTES = 2 * M * 4,   // -LSE * log2(e), then D
    WAY_OUT = 4096,          // bytes per warp
    SUM_BLOCK = 8192,        // numbers of a query block in the sum of dQ
    K_AT = 0,
    V_AT = KV_BYTES,
    Q_AT = 2 * KV_BYTES,
    O_AT = Q_AT + Q_STAGES * Q_BYTES,
    DS_AT = O_AT + O_STAGES * Q_BYTES,
    OUT_AT = DS_AT + O_STAGES * DS_BYTES,
    ROWS_AT = OUT_AT + 8 * WAY_OUT,
    BARRIERS_AT = ROWS_AT + O_STAGES * ROW_BYTES
};

enum { // barriers
    K_FULL,
    K_EMPTY,
    V_FULL,
    V_EMPTY,
    Q_FULL,
    Q_EMPTY = Q_FULL + Q_STAGES,
    O_FULL = Q_EMPTY + Q_STAGES,
    O_EMPTY = O_FULL + O_STAGES,
    DS_FULL = O_EMPTY + O_STAGES,
    DS_EMPTY = DS_FULL + O_STAGES,
    BARRIERS = DS_EMPTY + O_STAGES
};

_Alignas(1024) shared u8 smem[];

// --- the tensors

typedef struct problem {
    u32 queries, query_blocks, key_blocks; // of a head
    u32 units, per_head;                   // units of work: of all heads of K and V, of one
    f32 c, scale;                          // c: scale * log2(e)
#if defined(STRIDED)
    u32 keys, heads, kv_heads, sharing; // sharing: heads per head of K and V
    steps q, k, v, dout;
    strides dk, dv;
#endif
} problem;

typedef struct query_block {
    u32 head, block;
} query_block;

#if defined(STRIDED)
enum { SHARED_HEADS = 1 };

static u32 keys_of(problem p)
{
    return p.keys;
}

static u32 sharing_of(problem p)
{
    return p.sharing;
}

static u32 seen_by_first(problem p) // keys before the one that is as far as the first query
{
    return p.keys - p.queries;
}

static u32 first_query_block(problem p, u32 key_block) // that sees one of its keys
{
    u32 key = key_block * KEYS, before = seen_by_first(p);
    return key > before ? (key - before) / M : 0;
}

// Query block number i of those that a key block works with: of one head after the other.
static query_block query_block_at(problem p, u32 kv_head, u32 first, u32 i)
{
    u32 per_head = p.query_blocks - first, other = i / per_head;
    return (query_block){kv_head * p.sharing + other, first + i - other * per_head};
}

#else
enum { SHARED_HEADS = 0 };

static u32 keys_of(problem p)
{
    return p.queries;
}

static u32 sharing_of(problem p)
{
    return 1;
}

static u32 seen_by_first(problem p)
{
    return 0;
}

static u32 first_query_block(problem p, u32 key_block)
{
    return key_block * (KEYS / M);
}

static query_block query_block_at(problem p, u32 kv_head, u32 first, u32 i)
{
    return (query_block){kv_head, first + i};
}

#endif

static mbarrier *barrier_at(u32 first, u32 stage)
{
    return (mbarrier *)(smem + BARRIERS_AT) + first + stage;
}

typedef struct ring {
    u32 stage, phase;
} ring;

static void advance(ring *r, u32 stages)
{
    r->stage++;
    if (r->stage == stages) {
        r->stage = 0;
        r->phase ^= 1;
    }
}

static ring before(ring r, u32 stages)
{
    bool wraps = r.stage == 0;
    return (ring){(wraps ? stages : r.stage) - 1, r.phase ^ (wraps ? 1u : 0u)};
}

// --- products; 64 x 64 scores are 32 registers

typedef f32 scores[PARTS][32];

static u32 group()
{
    return warp() / 4;
}

// What the products read, at stage 0. Rows of an operand are contiguous along the sum, or
// ("_across") along the other side.
typedef struct operands {
    u64 k, v, ds;                 // of this warpgroup's 64 keys
    u64 q, o, q_across, o_across; // of a query block
    u64 ds_across, k_across;      // of this warpgroup's part of dQ
} operands;

// Each warpgroup has 64 x 64 of dQ: half of the columns (HD 128) or of the queries (HD 64).
static operands operands_of(u32 group)
{
    u32 half = group * KV_SLAB;
    return (operands){
        .k = wgmma_k_major(smem + K_AT + group * 8192, 128),
        .v = wgmma_k_major(smem + V_AT + group * 8192, 128),
        .ds = wgmma_k_major(smem + DS_AT + group * 8192, 128),
        .q = wgmma_k_major(smem + Q_AT, 128),
        .o = wgmma_k_major(smem + O_AT, 128),
        .q_across = wgmma_mn_major(smem + Q_AT, 128, Q_SLAB),
        .o_across = wgmma_mn_major(smem + O_AT, 128, Q_SLAB),
        .ds_across = wgmma_mn_major(smem + DS_AT + (HD == 128 ? 0 : half), 128, KV_SLAB),
        .k_across = wgmma_mn_major(smem + K_AT + (HD == 128 ? half : 0), 128, KV_SLAB),
    };
}

static u64 at_stage(u64 operand, u32 stage, u32 bytes)
{
    return operand + (u64)stage * (bytes / 16); // as wgmma_step, without a shift
}

static void multiply_scores(scores *s, u64 keys, u64 queries)
{
    wgmma_fence();
#pragma unroll
    for (u32 part = 0; part < PARTS; part++)
#pragma unroll
        for (u32 i = 0; i < HD / 16; i++)
            MULTIPLY((*s)[part], wgmma_step(keys, i / 4 * KV_SLAB + i % 4 * 32),
                     wgmma_step(queries, part * 8192 + i / 4 * Q_SLAB + i % 4 * 32), i > 0);
    wgmma_commit();
}

static void multiply_dk(f32 (*dk)[HD / 2], const operands *t, u32 ds_stage, u32 q_stage, bool adds)
{
    u64 a = at_stage(t->ds, ds_stage, DS_BYTES), b = at_stage(t->q_across, q_stage, Q_BYTES);
    wgmma_fence();
#pragma unroll
    for (u32 i = 0; i < M / 16; i++)
        MULTIPLY(*dk, wgmma_step(a, i / 4 * KV_SLAB + i % 4 * 32), wgmma_step(b, i * 2048),
                 adds || i > 0, wgmma_b_mn);
    wgmma_commit();
}

static void multiply_dq(f32 (*dq)[32], const operands *t, u32 ds_stage)
{
    u64 a = at_stage(t->ds_across, ds_stage, DS_BYTES);
    wgmma_fence();
#pragma unroll
    for (u32 i = 0; i < KEYS / 16; i++)
        MULTIPLY(*dq, wgmma_step(a, i * 2048), wgmma_step(t->k_across, i * 2048), i > 0,
                 wgmma_a_mn | wgmma_b_mn);
    wgmma_commit();
}

static void multiply_dv(f32 (*dv)[HD / 2], u32 (*p)[M / 16][4], u32 part, const operands *t,
                        u32 o_stage, bool adds)
{
    u64 b = at_stage(t->o_across, o_stage, Q_BYTES);
    wgmma_fence();
#pragma unroll
    for (u32 i = part * 4; i < part * 4 + 4; i++)
        MULTIPLY(*dv, (*p)[i], wgmma_step(b, i * 2048), adds || i > 0, wgmma_b_mn);
    wgmma_commit();
}

// --- P and dS

static const f32 *rows_of(u32 o_stage)
{
    return (const f32 *)(smem + ROWS_AT + o_stage * ROW_BYTES + lane() % 4 * 8);
}

static void pack_p(u32 (*p)[M / 16][4], scores *s, u32 k)
{
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        (*p)[k][i] = PACK((*s)[k / 4][k % 4 * 8 + i * 2], (*s)[k / 4][k % 4 * 8 + i * 2 + 1]);
}

// S becomes P. With M 128 packing waits for make_ds: fewer registers are alive.
static void make_p(scores *s, u32 (*p)[M / 16][4], f32 c, const f32 *rows)
{
#pragma unroll
    for (u32 j = 0; j < M / 8; j++) {
        f32x2 lse = *(const f32x2 *)(rows + j * 8);
#pragma unroll
        for (u32 r = 0; r < 4; r++) {
            f32 *at = &(*s)[j / 8][j % 8 * 4 + r];
            *at = fast_exp2(fma(*at, c, r % 2 ? lse.y : lse.x));
        }
        if (M == 64 && j % 2)
            pack_p(p, s, j / 2);
    }
}

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
    *(u32 *)(smem + OUT_AT + thread_x() * 16) = all;
}

static void make_ds(scores *d, scores *s, u32 (*p)[M / 16][4], u32 part, const f32 *rows)
{
#pragma unroll
    for (u32 j = part * 8; j < part * 8 + 8; j++) {
        f32x2 sum = *(const f32x2 *)(rows + M + j * 8);
#pragma unroll
        for (u32 r = 0; r < 4; r++) {
            f32 *at = &(*d)[j / 8][j % 8 * 4 + r];
            *at = (*at - (r % 2 ? sum.y : sum.x)) * (*s)[j / 8][j % 8 * 4 + r];
        }
        if (M != 64 && j % 2)
            pack_p(p, s, j / 2);
    }
}

// Rows of 128 bytes whose 16-byte granules are permuted as the tensor cores read them.
static u32 matrix_row(u32 row)
{
    return (row + lane() % 16) * 128 + ((lane() / 16 ^ (lane() & 7)) * 16);
}

static void store_ds(scores *d, u32 part, u32 ds_stage)
{
    u32 at = DS_AT + ds_stage * DS_BYTES + matrix_row(warp() * 16);
#pragma unroll
    for (u32 i = part * 4; i < part * 4 + 4; i++) {
        u32 words[4];
#pragma unroll
        for (u32 x = 0; x < 4; x++)
            words[x] = PACK((*d)[part][i % 4 * 8 + x * 2], (*d)[part][i % 4 * 8 + x * 2 + 1]);
        stmatrix(smem + (at ^ i % 4 * 32) + part * KV_SLAB, words);
    }
    if (part + 1 < PARTS)
        return;
    fence_async();
    warp_sync();
    if (lane() == 0)
        mbarrier_arrive(barrier_at(DS_FULL, ds_stage));
}
