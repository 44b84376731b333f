// C[M,N] = A * B for sm_80 and later: asynchronous copies into a ring of shared memory stages, ldmatrix
// and mma from it; a block takes one tile after the other, and the ring never runs empty between them.
// Any M, N and K; rows of the operands start at multiples of 16 bytes.
//
// One source for all types: -D TYPE_bf16 (f16, tf32, e4m3, s8), -D OUT_bf16 (f16, f32, s32), A_IS_MN,
// B_IS_MN for 16-bit operands stored [K,M], [K,N]. A stage holds 128 bytes of K; a step of an
// instruction is 32 bytes of it, whatever the type, so that the types differ in one instruction alone.
// Shared memory holds lines of eight granules of 16 bytes; granule g of line r lies at g ^ r % 8.
#include <kiln/kernel.h>

tune(BM, 128, 64, 256);
tune(BN, 256, 64, 128);
tune(STAGES, 3, 2, 4);
tune(WARPS_M, 2, 1, 4);
tune(WARPS_N, 4, 1, 2);
tune(GROUP, 16, 1, 2, 4, 8);
tune(WIDE, 0, 1);  // WHOLE, and rows of results start at multiples of 16 bytes
tune(WHOLE, 0, 1); // m, n and k are multiples of the tile's, and there are STAGES steps or more
tune(PAIRS, 1, 0); // pairs of results are aligned: N, the stride and the address are even

#include "gemm_common.h"

#if defined(TYPE_f16)
#define MULTIPLY mma_f16
#elif defined(TYPE_tf32)
#define MULTIPLY mma_tf32
#elif defined(TYPE_e4m3)
#define MULTIPLY mma_e4m3
#elif defined(TYPE_s8)
#define MULTIPLY mma_s8
#else
#define MULTIPLY mma_bf16
#endif

enum {
    K_STEP = 128 / sizeof(in_t), // elements of a stage along K
    A_BYTES = BM * 128,
    STAGE_BYTES = (BM + BN) * 128,
    THREADS = WARPS_M * WARPS_N * 32,
    ROWS = BM / WARPS_M, // of a warp
    COLUMNS = BN / WARPS_N,
    TILES_M = ROWS / 16,
    TILES_N = COLUMNS / 16,
    SHARED_BYTES = STAGES * STAGE_BYTES
};

_Alignas(128) shared u8 smem[];

// --- memory to shared memory

enum {
    LINES = THREADS / 8,
    A_GRANULES = BM * 8 / THREADS, // of a thread in a stage
    B_GRANULES = BN * 8 / THREADS,
    GRANULES = A_GRANULES + B_GRANULES
};

// What a thread copies of an operand: one granule of every LINES-th line of the tile. Along K a line is
// a row or column of the product; across it (MN) a tile is blocks of 64 columns, each 64 lines of K.
typedef struct source {
    const u8 *at[BM > BN ? BM / LINES : BN / LINES]; // the granules of the stage before; see move
    u64 step;                                        // bytes from stage to stage
    u64 far;                                         // bytes to LINES lines further
    u32 lines;                                       // left from the first granule's line on
    u32 bytes;                                       // left in a line from the first granule on
} source;

static source source_of(const in_t *matrix, bool is_mn, u32 tile, u32 first, u32 size, u32 k, u64 stride)
{
    u32 line = thread_x() / 8, byte = thread_x() % 8 * 16;
    u32 lines = is_mn ? k : size, skipped = is_mn ? line : first + line;
    u32 bytes = (is_mn ? size : k) * (u32)sizeof(in_t);
    u32 begin = byte + (is_mn ? first * (u32)sizeof(in_t) : 0);
    source x;
    // Along K it is 128, but not as a constant: ptxas would make it an offset of the copy, and add it later.
    x.step = is_mn ? 64 * sizeof(in_t) * stride : min(k * (u32)sizeof(in_t), 128u);
    const u8 *at = (const u8 *)matrix + skipped * stride * sizeof(in_t) + begin - x.step;
    x.far = LINES * sizeof(in_t) * stride;
#pragma unroll
    for (u32 n = 0; n < (is_mn ? 64 : tile) / LINES; n++) {
        x.at[n] = at;
        at += x.far;
    }
    x.lines = lines > skipped ? lines - skipped : 0;
    x.bytes = bytes > begin ? bytes - begin : 0;
    return x;
}

// Where a thread's first granule lies in a tile.
static u32 slot_of(void)
{
    u32 line = thread_x() / 8;
    return line * 128 + ((thread_x() % 8 ^ (line & 7)) * 16);
}

// Where the n-th line's granule of the next stage is. Every line has an address of its own, which moves on
// right before its copies: they read it late, and who changes it behind them waits. With edges there are no
// registers for that: at[0] is the first line's then, at[1] the current one's.
static const u8 *move(source *x, u32 n)
{
    if (WHOLE || n == 0)
        x->at[n] += x->step;
    if (!WHOLE)
        x->at[1] = n == 0 ? x->at[0] : x->at[1] + x->far;
    return x->at[WHOLE ? n : 1];
}

// Granule `i` of a stage, to its place behind the first one; they are copied in order. Bytes beyond the
// matrix are zeros, and nothing is read there.
static void copy_granule(u8 *to, source *x, bool is_mn, u32 tile, u32 i)
{
    u32 blocks = is_mn ? tile / 64 : 1, block = i % blocks, n = i / blocks;
    u8 *slot = to + (block * 8192 + n * LINES * 128);
    const u8 *from = (block == 0 ? move(x, n) : x->at[WHOLE ? n : 1]) + block * 128;
    if (WHOLE) {
        async_copy_16(slot, from);
    } else {
        u32 bytes = x->bytes > block * 128 ? x->bytes - block * 128 : 0;
        async_copy_16_part(slot, from, n * LINES < x->lines ? min(bytes, 16u) : 0);
    }
    if (i == tile * 8 / THREADS - 1 && is_mn)
        x->lines -= min(x->lines, 64u);
    if (i == tile * 8 / THREADS - 1 && !is_mn)
        x->bytes -= min(x->bytes, 128u);
}

// Granules `first` to `end` of a stage: those of a, then those of b.
static void copy_granules(u8 *to, source *x, source *y, u32 first, u32 end)
{
#pragma unroll
    for (u32 i = 0; i < GRANULES; i++) {
        if (i < first || i >= end)
            continue;
        if (i < A_GRANULES)
            copy_granule(to, x, A_IS_MN, BM, i);
        else
            copy_granule(to + A_BYTES, y, B_IS_MN, BN, i - A_GRANULES);
    }
}

// --- shared memory to registers

// Where a lane's line of 16 rows (or columns) lies: those that begin at `first`, step 0. `line` and
// `granule` are the lane's line and granule in there.
static u32 place_of(bool is_mn, u32 first, u32 line, u32 granule)
{
    return is_mn ? first / 64 * 8192 + line * 128 + ((first % 64 / 8 ^ granule ^ (line & 7)) * 16)
                 : (first + line) * 128 + ((granule ^ (line & 7)) * 16);
}

// The same in a stage for rows 16 * i further and step s. The constant stands beside the stage: a place
// with a constant added would be one more register in the loop.
static const u8 *further(const u8 *stage, u32 place, bool is_mn, u32 i, u32 s)
{
    return is_mn ? stage + (i / 4 * 8192 + s * 2048) + (place ^ (i % 4 * 32)) : stage + i * 2048 + (place ^ (s * 32));
}

static void load_a(u32 (*words)[4], const u8 *at)
{
    if (A_IS_MN)
        ldmatrix_transposed(*words, at);
    else
        ldmatrix(*words, at);
}

// 16 columns: two operands of mma.
static void load_b(u32 (*first)[2], u32 (*second)[2], const u8 *at)
{
    u32 words[4];
    if (B_IS_MN)
        ldmatrix_transposed(words, at);
    else
        ldmatrix(words, at);
    (*first)[0] = words[0];
    (*first)[1] = words[1];
    (*second)[0] = words[2];
    (*second)[1] = words[3];
}

// --- a stage

typedef struct fragments { // of a step
    u32 a[TILES_M][4], b[TILES_N * 2][2];
} fragments;

typedef acc_t sums[TILES_M][TILES_N * 2][4]; // of a warp

typedef struct work {
    source x, y;
    u32 slot;       // where the thread's first granule of a tile lies
    u32 at_a, at_b; // where the lane's line of a step lies
    u32 now, ahead; // stages: multiplied, filled
    fragments f[2]; // of even and odd steps
} work;

static void load_step(fragments *f, const work *w, u32 s)
{
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
        load_a(&f->a[i], further(smem + w->now, w->at_a, A_IS_MN, i, s));
#pragma unroll
    for (u32 j = 0; j < TILES_N; j++)
        load_b(&f->b[j * 2], &f->b[j * 2 + 1], further(smem + w->now + A_BYTES, w->at_b, B_IS_MN, j, s));
}

static u32 next_stage(u32 stage)
{
    return stage + STAGE_BYTES == SHARED_BYTES ? 0 : stage + STAGE_BYTES;
}

// While the fragments of a step are multiplied, those of the next one are loaded, and in three of four
// steps a third of the stage ahead is copied: all at once, copies and loads would stand in each other's way.
static void multiply_stage(sums *acc, work *w, bool is_copying)
{
#pragma unroll
    for (u32 s = 0; s < 4; s++) {
        if (s == 3) {
            async_commit();
            async_wait(STAGES - 2);
            barrier();
            w->now = next_stage(w->now);
        }
        if (s < 3 && is_copying)
            copy_granules(smem + w->ahead + w->slot, &w->x, &w->y, s * GRANULES / 3, (s + 1) * GRANULES / 3);
        load_step(&w->f[(s + 1) % 2], w, (s + 1) % 4);
#pragma unroll
        for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
            for (u32 j = 0; j < TILES_N * 2; j++)
                MULTIPLY((*acc)[i][j], w->f[s % 2].a[i], w->f[s % 2].b[j]);
    }
    w->ahead = next_stage(w->ahead);
}

// --- registers to memory

#if defined(PACK)
// Four lanes have two columns each of four times eight; afterwards each has eight neighbouring ones.
static void turn(u32 (*words)[4])
{
#pragma unroll
    for (u32 bit = 1; bit <= 2; bit *= 2) {
        bool is_set = lane() & bit;
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            if (i & bit)
                continue;
            u32 got = shuffle_xor(is_set ? (*words)[i] : (*words)[i + bit], bit);
            (*words)[i] = is_set ? got : (*words)[i];
            (*words)[i + bit] = is_set ? (*words)[i + bit] : got;
        }
    }
}

static u32 pack_pair(result c, u32 column, acc_t x, acc_t y)
{
#if HAS_BIAS
    x = epilogue(x, c.bias[column]);
    y = epilogue(y, c.bias[column + 1]);
#endif
    return PACK(x, y);
}

static void store_wide(result c, u32 row, u32 column, sums *acc)
{
#pragma unroll
    for (u32 i = 0; i < TILES_M * 2; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N * 2; j += 4) {
            u32 words[4], r = row + i * 8 + lane() / 4, at = column + j * 8 + lane() % 4 * 8;
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                words[e] = pack_pair(c, column + (j + e) * 8 + lane() % 4 * 2, (*acc)[i / 2][j + e][i % 2 * 2],
                                     (*acc)[i / 2][j + e][i % 2 * 2 + 1]);
            turn(&words);
            *(u32x4 *)(c.at + (r * c.stride + at)) = (u32x4){words[0], words[1], words[2], words[3]};
        }
}
#endif

static void store(result c, u32 row, u32 column, sums *acc)
{
#if defined(PACK)
    if (WIDE) {
        store_wide(c, row, column, acc);
        return;
    }
#endif
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N * 2; j++) {
            u32 r = row + i * 16 + lane() / 4, at = column + j * 8 + lane() % 4 * 2;
            store_pair(c, r, at, (*acc)[i][j][0], (*acc)[i][j][1]);
            store_pair(c, r + 8, at, (*acc)[i][j][2], (*acc)[i][j][3]);
        }
}

// --- the kernel

// A block takes every so many-th tile. In the last stages of one it copies the first ones of the next.
kernel block(THREADS) void gemm(const in_t *a, const in_t *b, out_t *out,
#if HAS_BIAS
                                const f32 *bias,
#endif
                                u32 m, u32 n, u32 k, u32 a_stride, u32 b_stride, u32 out_stride, u64 a_batch, u64 b_batch,
                                u64 out_batch)
{
    u64 batch = block_y();
    u32 rows = (m + BM - 1) / BM, columns = (n + BN - 1) / BN, l = lane();
    u32 steps = max((k + K_STEP - 1) / K_STEP, (u32)STAGES); // beyond K there are zeros
    u32 row = warp() / WARPS_N * ROWS, column = warp() % WARPS_N * COLUMNS;
    result c = {.at = out + batch * out_batch, .rows = m, .columns = n, .stride = out_stride};
#if HAS_BIAS
    c.bias = bias;
#endif
    u32x2 origin = tile_at(block_x(), rows, columns);
    work w;
    w.x = source_of(a + batch * a_batch, A_IS_MN, BM, origin.x, m, k, a_stride);
    w.y = source_of(b + batch * b_batch, B_IS_MN, BN, origin.y, n, k, b_stride);
    w.at_a = A_IS_MN ? place_of(true, row, l / 16 * 8 + l % 8, l / 8 % 2) : place_of(false, row, l % 16, l / 16);
    w.at_b = B_IS_MN ? place_of(true, column, l % 16, l / 16) : place_of(false, column, l / 16 * 8 + l % 8, l / 8 % 2);
    w.slot = slot_of();
    w.now = 0;
    w.ahead = (STAGES - 1) * STAGE_BYTES;
#pragma unroll
    for (u32 s = 0; s < STAGES - 1; s++) {
        copy_granules(smem + s * STAGE_BYTES + w.slot, &w.x, &w.y, 0, GRANULES);
        async_commit();
    }
    async_wait(STAGES - 2);
    barrier();
    load_step(&w.f[0], &w, 0);

    for (u32 t = block_x(); t < rows * columns; t += grid_dim_x()) {
        sums acc;
#pragma unroll
        for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
            for (u32 j = 0; j < TILES_N * 2; j++)
#pragma unroll
                for (u32 e = 0; e < 4; e++)
                    acc[i][j][e] = 0;
        for (u32 step = STAGES - 1; step < steps; step++)
            multiply_stage(&acc, &w, true);
        bool has_next = t + grid_dim_x() < rows * columns;
        if (has_next) {
            u32x2 origin = tile_at(t + grid_dim_x(), rows, columns);
            w.x = source_of(a + batch * a_batch, A_IS_MN, BM, origin.x, m, k, a_stride);
            w.y = source_of(b + batch * b_batch, B_IS_MN, BN, origin.y, n, k, b_stride);
        }
        for (u32 step = 0; step < STAGES - 1; step++)
            multiply_stage(&acc, &w, has_next);
        u32x2 done = tile_at(t, rows, columns); // again: registers are scarce
        store(c, done.x + row, done.y + column, &acc);
    }
}
