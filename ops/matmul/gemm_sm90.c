// C[M,N] = A * B for Hopper (sm_90a): persistent blocks, one warpgroup that keeps a ring of shared
// memory stages filled through the copy engine, and WGS warpgroups that multiply from it.
//
// One source for all types and layouts: -D TYPE_bf16 (f16, tf32, e4m3, s8), -D OUT_bf16 (f16, f32,
// s32), -D A_MN / -D B_MN for operands stored [K,M] / [K,N] instead of [M,K] / [N,K]; the tile and
// the ring are tunables. A stage holds 128 bytes of K. The host (matmul.c) makes the tensor maps.
#include <kiln/kernel.h>

tune(BM, 128, 64, 192, 256);
tune(BN, 256, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240);
tune(STAGES, 4, 2, 3, 5, 6, 7, 8);
tune(WGS, 2, 1, 3); // warpgroups that multiply
tune(GROUP, 16, 1, 2, 4, 8, 32);
tune(SPLIT, 1, 0);   // a whole warpgroup loads and gives its registers away; else one warp loads
tune(CHAINED, 0, 1); // part of a dependent launch

#if defined(TYPE_f16)
#define MULTIPLY wgmma_f16
#elif defined(TYPE_tf32)
#define MULTIPLY wgmma_tf32
#elif defined(TYPE_e4m3)
#define MULTIPLY wgmma_e4m3
#elif defined(TYPE_s8)
#define MULTIPLY wgmma_s8
#else
#define TYPE_bf16
#define MULTIPLY wgmma_bf16
#endif

#if defined(TYPE_tf32)
enum { K_STEP = 32 }; // elements of a stage along K
#elif defined(TYPE_e4m3) || defined(TYPE_s8)
enum { K_STEP = 128 };
#else
enum { K_STEP = 64 };
#endif

#if defined(TYPE_s8)
typedef i32 acc_t;
#else
typedef f32 acc_t;
#endif

#if defined(OUT_f32)
typedef f32 out_t;
enum { OUT_BYTES = 4 };
#elif defined(OUT_s32)
typedef i32 out_t;
enum { OUT_BYTES = 4 };
#elif defined(OUT_f16)
typedef f16 out_t;
#define PACK pack_f16
enum { OUT_BYTES = 2 };
#else
typedef bf16 out_t;
#define PACK pack_bf16
enum { OUT_BYTES = 2 };
#endif

// Bytes from one k-step of an instruction to the next, inside a stage.
#if defined(A_MN)
enum { A_LAYOUT = wgmma_a_mn, A_NEXT = 2048 };
#else
enum { A_LAYOUT = 0, A_NEXT = 32 };
#endif
#if defined(B_MN)
enum { B_LAYOUT = wgmma_b_mn, B_NEXT = 2048 };
#else
enum { B_LAYOUT = 0, B_NEXT = 32 };
#endif

enum {
    A_BYTES = BM * 128,
    B_BYTES = BN * 128,
    STAGE_BYTES = A_BYTES + B_BYTES,
    SLAB = 2048,                         // 16 rows of 128 bytes: a warp's way out
    SLABS_AT = STAGES * STAGE_BYTES,     // two per warp
    BARRIERS_AT = SLABS_AT + WGS * 4 * 2 * SLAB,
    SHARED_BYTES = BARRIERS_AT + 16 * STAGES,
    TILES = BM / (64 * WGS),             // of 64 rows, per warpgroup
    COLUMNS = 128 / OUT_BYTES,           // of a slab
    THREADS = 128 * WGS + (SPLIT ? 128 : 32)
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

typedef struct tile {
    u32 m, n;
} tile;

// Groups of GROUP tile rows, column by column inside a group: neighbours share operands in the cache.
static tile tile_at(u32 t, u32 rows, u32 columns)
{
    u32 width = GROUP * columns, group = t / width, first = group * GROUP;
    u32 height = min(rows - first, (u32)GROUP), rest = t - group * width, n = rest / height;
    return (tile){(first + rest - n * height) * BM, n * BN};
}

// --- the producer: one thread

static void load_operand(u8 *to, const tensor_map *map, bool is_mn, u32 size, u32 first, u32 k,
                         mbarrier *full)
{
    if (!is_mn) {
        tensor_load_2d(to, map, (i32)k, (i32)first, full);
        return;
    }
#pragma unroll
    for (u32 i = 0; i < size / 64; i++)
        tensor_load_2d(to + i * 8192, map, (i32)(first + i * 64), (i32)k, full);
}

static void produce(const tensor_map *a, const tensor_map *b, u32 rows, u32 columns, u32 steps)
{
    ring r = {0, 1};
    for (u32 t = block_x(); t < rows * columns; t += grid_dim_x()) {
        tile at = tile_at(t, rows, columns);
        for (u32 k = 0; k < steps; k++) {
            u8 *stage = smem + r.stage * STAGE_BYTES;
            mbarrier *full = full_of(r.stage);
            mbarrier_wait(empty_of(r.stage), r.phase);
            mbarrier_arrive_expect(full, STAGE_BYTES);
            load_operand(stage, a, A_LAYOUT != 0, BM, at.m, k * K_STEP, full);
            load_operand(stage + A_BYTES, b, B_LAYOUT != 0, BN, at.n, k * K_STEP, full);
            advance(&r);
        }
    }
}

// --- the consumers

#if defined(EPILOGUE_bias) || defined(EPILOGUE_bias_gelu) || defined(EPILOGUE_bias_relu) || defined(EPILOGUE_bias_silu)
#define HAS_BIAS 1
static f32 finish(f32 x, f32 b)
{
    x += b;
#if defined(EPILOGUE_bias_gelu)
    return 0.5f * x * (1.0f + fast_tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
#elif defined(EPILOGUE_bias_relu)
    return max(x, 0.0f);
#elif defined(EPILOGUE_bias_silu)
    return x * fast_rcp(1.0f + fast_exp2(-1.4426950409f * x));
#else
    return x;
#endif
}
#else
#define HAS_BIAS 0
#endif

typedef struct corner { // where a warp's 16 rows of the result begin
    out_t *out;
    const f32 *bias;
    u32 row, column, rows, columns;
} corner;

static void add_bias(acc_t (*acc)[BN / 2], corner c)
{
#if HAS_BIAS
#pragma unroll
    for (u32 j = 0; j < BN / 8; j++) {
        u32 n = c.column + j * 8 + lane() % 4 * 2;
        f32x2 b = {0.0f, 0.0f};
        if (n < c.columns)
            b = *(const f32x2 *)(c.bias + n);
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            (*acc)[j * 4 + h * 2] = finish((*acc)[j * 4 + h * 2], b.x);
            (*acc)[j * 4 + h * 2 + 1] = finish((*acc)[j * 4 + h * 2 + 1], b.y);
        }
    }
#endif
}

// Registers to the slab, in 16-byte granules that are permuted within eight rows: no bank conflicts.
static void fill_slab(acc_t (*acc)[BN / 2], u32 chunk, u8 *slab)
{
#if defined(OUT_f32) || defined(OUT_s32)
    u32 row = lane() / 4, pair = lane() % 4, odd = row & 1;
#pragma unroll
    for (u32 j = 0; j < 4; j++) { // odd rows take column block j ^ 2 when even rows take j
        u32 granule = ((2 * j + pair / 2) ^ (odd * 4)) ^ row;
        u8 *to = slab + row * 128 + granule * 16 + pair % 2 * 8;
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            acc_t *even_at = &(*acc)[chunk * 16 + j * 4 + h * 2];
            acc_t *odd_at = &(*acc)[chunk * 16 + (j ^ 2) * 4 + h * 2];
            acc_t x = odd ? odd_at[0] : even_at[0], y = odd ? odd_at[1] : even_at[1];
            ((acc_t *)(to + h * 1024))[0] = x;
            ((acc_t *)(to + h * 1024))[1] = y;
        }
    }
#else
#pragma unroll
    for (u32 u = 0; u < 4; u++) {
        if (chunk * 64 + u * 16 < BN) {
            u32 words[4];
#pragma unroll
            for (u32 x = 0; x < 4; x++)
                words[x] = PACK((*acc)[chunk * 32 + u * 8 + 2 * x], (*acc)[chunk * 32 + u * 8 + 2 * x + 1]);
            stmatrix(slab + lane() % 16 * 128 + (((lane() / 16 + 2 * u) ^ (lane() & 7)) * 16), words);
        }
    }
#endif
}

// Where a lane's 16 bytes of rows lane / 8, + 4, + 8, + 12 go.
typedef struct way_out {
    out_t *to[4];
    bool is_in[4];
    u32 column, columns;
} way_out;

static way_out way_out_of(corner c)
{
    way_out w = {.column = lane() % 8 * (16 / OUT_BYTES)};
#pragma unroll
    for (u32 q = 0; q < 4; q++) {
        u32 row = c.row + q * 4 + lane() / 8;
        w.to[q] = c.out + (u64)row * c.columns + c.column + w.column;
        w.is_in[q] = row < c.rows;
    }
    w.columns = c.columns - min(c.column, c.columns); // that are left from the tile's first on
    return w;
}

static void empty_slab(const way_out *w, u32 chunk, const u8 *slab)
{
    u32 column = chunk * COLUMNS + w->column;
    bool is_filled = BN % COLUMNS == 0 || column < BN; // the last slab may be narrower
    bool is_in = column < w->columns && is_filled;
#pragma unroll
    for (u32 q = 0; q < 4; q++) {
        u32 row = q * 4 + lane() / 8;
        u32x4 v = {0, 0, 0, 0};
        if (is_filled)
            v = *(const u32x4 *)(slab + row * 128 + (((lane() & 7) ^ (row & 7)) * 16));
        if (is_in && w->is_in[q])
            *(u32x4 *)(w->to[q] + chunk * COLUMNS) = v;
    }
}

static void store_tile(acc_t (*acc)[BN / 2], corner c, u8 *slabs)
{
    add_bias(acc, c);
    way_out w = way_out_of(c);
    warp_sync();
#pragma unroll
    for (u32 chunk = 0; chunk < (BN + COLUMNS - 1) / COLUMNS; chunk++) {
        u8 *slab = slabs + chunk % 2 * SLAB;
        fill_slab(acc, chunk, slab);
        warp_sync();
        empty_slab(&w, chunk, slab);
    }
}

static void consume(corner c, u32 rows, u32 columns, u32 steps)
{
    u32 group = warp() / 4;
    ring r = {0, 0};
    bool is_leader = thread_x() % 128 == 0;
    u8 *slabs = smem + SLABS_AT + warp() * 2 * SLAB;
#if defined(A_MN)
    u64 a0 = wgmma_mn_major(smem + group * (TILES * 8192), 128, 8192);
#else
    u64 a0 = wgmma_k_major(smem + group * (TILES * 8192), 128);
#endif
#if defined(B_MN)
    u64 b0 = wgmma_mn_major(smem + A_BYTES, 128, 8192);
#else
    u64 b0 = wgmma_k_major(smem + A_BYTES, 128);
#endif
    for (u32 t = block_x(); t < rows * columns; t += grid_dim_x()) {
        tile at = tile_at(t, rows, columns);
        acc_t acc[TILES][BN / 2];
        u32 before = 0; // the stage that is still being read
        for (u32 k = 0; k < steps; k++) {
            mbarrier_wait(full_of(r.stage), r.phase);
            u64 a = wgmma_step(a0, r.stage * STAGE_BYTES), b = wgmma_step(b0, r.stage * STAGE_BYTES);
            wgmma_fence();
#pragma unroll
            for (u32 s = 0; s < 4; s++)
#pragma unroll
                for (u32 i = 0; i < TILES; i++)
                    MULTIPLY(acc[i], wgmma_step(a, s * A_NEXT + i * 8192), wgmma_step(b, s * B_NEXT),
                             k != 0 || s != 0
#if defined(TYPE_bf16) || defined(TYPE_f16)
                             , A_LAYOUT | B_LAYOUT
#endif
                    );
            wgmma_commit();
            wgmma_wait(1);
            if (k != 0 && is_leader)
                mbarrier_arrive(empty_of(before));
            before = r.stage;
            advance(&r);
        }
        wgmma_wait(0);
        if (is_leader)
            mbarrier_arrive(empty_of(before));
        c.column = at.n;
#pragma unroll
        for (u32 i = 0; i < TILES; i++) {
            c.row = at.m + (group * TILES + i) * 64 + warp() % 4 * 16;
            store_tile(&acc[i], c, slabs);
        }
    }
}

kernel block(THREADS) void gemm(tensor_map a, tensor_map b, out_t *out,
#if HAS_BIAS
                                const f32 *bias,
#endif
                                u32 m, u32 n, u32 tile_rows, u32 tile_columns, u32 steps)
{
    if (thread_x() == 0) {
#pragma unroll
        for (u32 s = 0; s < STAGES; s++) {
            mbarrier_init(full_of(s), 1);
            mbarrier_init(empty_of(s), WGS);
        }
        mbarrier_fence_init();
        tensor_map_prefetch(&a);
        tensor_map_prefetch(&b);
    }
    barrier();
    if (warp() < WGS * 4) {
        if (SPLIT)
            registers_more(WGS == 3 ? 160 : 232);
        if (CHAINED)
            next_kernel_launch();
        corner c = {.out = out, .rows = m, .columns = n};
#if HAS_BIAS
        c.bias = bias;
#endif
        consume(c, tile_rows, tile_columns, steps);
    } else {
        if (SPLIT)
            registers_less(WGS == 3 ? 32 : 40);
        if (thread_x() == WGS * 128) {
            if (CHAINED)
                previous_kernel_wait();
            produce(&a, &b, tile_rows, tile_columns, steps);
        }
    }
}
