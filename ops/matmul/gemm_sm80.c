// C[M,N] = A * B for sm_80 and later: asynchronous copies into a ring of shared memory stages, ldmatrix
// and mma from it. Any M, N and K; rows of the operands start at multiples of 16 bytes.
//
// One source for all types: -D TYPE_bf16 (f16, tf32, e4m3, s8), -D OUT_bf16 (f16, f32, s32), -D A_MN /
// -D B_MN for 16-bit operands stored [K,M] / [K,N]. A stage holds 128 bytes of K; a step of an
// instruction is 32 bytes of it, whatever the type, so that the types differ in one instruction alone.
// Shared memory holds lines of eight granules of 16 bytes; granule g of line r lies at g ^ r % 8.
#include <kiln/kernel.h>

tune(BM, 128, 64, 256);
tune(BN, 256, 64, 128);
tune(STAGES, 3, 2, 4);
tune(WARPS_M, 2, 1, 4);
tune(WARPS_N, 4, 1, 2);
tune(GROUP, 8, 1, 2, 4, 16);
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

// What a thread copies of an operand: one granule of every LINES-th line of the tile. Along K a line is
// a row or column of the product; across it (MN) a tile is blocks of 64 columns, each 64 lines of K.
typedef struct source {
    const u8 *at;   // the first granule of the step
    u64 stride;     // bytes from line to line
    u32 lines;      // how many are left from the first granule's line on
    u32 bytes;      // how many are left in a line, from the first granule on
    u32 slot;       // where the first granule lies in a tile
} source;

enum { LINES = THREADS / 8 };

static source source_of(const in_t *x, bool is_mn, u32 first, u32 size, u32 k, u64 stride)
{
    u32 line = thread_x() / 8, byte = thread_x() % 8 * 16;
    u32 lines = is_mn ? k : size, skipped = is_mn ? line : first + line;
    u32 bytes = (is_mn ? size : k) * (u32)sizeof(in_t);
    u32 begin = byte + (is_mn ? first * (u32)sizeof(in_t) : 0);
    return (source){(const u8 *)x + skipped * stride * sizeof(in_t) + begin, stride * sizeof(in_t),
                    lines > skipped ? lines - skipped : 0, bytes > begin ? bytes - begin : 0,
                    line * 128 + ((byte / 16 ^ (line & 7)) * 16)};
}

// One granule; bytes beyond the matrix are zeros, and nothing is read there.
static void copy_granule(u8 *to, const u8 *from, u32 bytes, bool is_in)
{
    u32 count = is_in ? min(bytes, 16u) : 0;
    async_copy_16_part(to, from, count);
}

static void copy_operand(u8 *to, source *x, bool is_mn, u32 size)
{
    if (is_mn) {
#pragma unroll
        for (u32 block = 0; block < size / 64; block++) {
            const u8 *from = x->at + block * 128;
            u32 bytes = x->bytes > block * 128 ? x->bytes - block * 128 : 0;
#pragma unroll
            for (u32 line = 0; line < 64; line += LINES) {
                copy_granule(to + x->slot + block * 8192 + line * 128, from, bytes, line < x->lines);
                from += LINES * x->stride;
            }
        }
        x->at += 64 * x->stride;
        x->lines -= min(x->lines, 64u);
    } else {
        const u8 *from = x->at;
#pragma unroll
        for (u32 line = 0; line < size; line += LINES) {
            copy_granule(to + x->slot + line * 128, from, x->bytes, line < x->lines);
            from += LINES * x->stride;
        }
        x->at += 128;
        x->bytes -= min(x->bytes, 128u);
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

// The same for rows 16 * i further and step s.
static u32 further(u32 place, bool is_mn, u32 i, u32 s)
{
    return is_mn ? (place ^ (i % 4 * 32)) + i / 4 * 8192 + s * 2048 : (place ^ (s * 32)) + i * 2048;
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

// --- the kernel

kernel block(THREADS) void gemm(const in_t *a, const in_t *b, out_t *out,
#if HAS_BIAS
                                const f32 *bias,
#endif
                                u32 m, u32 n, u32 k, u32 a_stride, u32 b_stride, u32 out_stride, u64 a_batch, u64 b_batch,
                                u64 out_batch)
{
    u64 batch = block_y();
    u32 steps = (k + K_STEP - 1) / K_STEP, l = lane();
    u32x2 corner = tile_at(block_x(), (m + BM - 1) / BM, (n + BN - 1) / BN);
    source x = source_of(a + batch * a_batch, A_IS_MN, corner.x, m, k, a_stride);
    source y = source_of(b + batch * b_batch, B_IS_MN, corner.y, n, k, b_stride);
    u32 row = warp() / WARPS_N * ROWS, column = warp() % WARPS_N * COLUMNS;
    u32 at_a = A_IS_MN ? place_of(true, row, l / 16 * 8 + l % 8, l / 8 % 2) : place_of(false, row, l % 16, l / 16);
    u32 at_b = B_IS_MN ? place_of(true, column, l % 16, l / 16) : place_of(false, column, l / 16 * 8 + l % 8, l / 8 % 2);
    acc_t acc[TILES_M][TILES_N * 2][4];
    u32 wa[2][TILES_M][4], wb[2][TILES_N * 2][2];
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N * 2; j++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                acc[i][j][e] = 0;

#pragma unroll
    for (u32 s = 0; s < STAGES - 1; s++) { // beyond K there are zeros
        copy_operand(smem + s * STAGE_BYTES, &x, A_IS_MN, BM);
        copy_operand(smem + s * STAGE_BYTES + A_BYTES, &y, B_IS_MN, BN);
        async_commit();
    }
    async_wait(STAGES - 2);
    barrier();
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
        load_a(&wa[0][i], smem + further(at_a, A_IS_MN, i, 0));
#pragma unroll
    for (u32 j = 0; j < TILES_N; j++)
        load_b(&wb[0][j * 2], &wb[0][j * 2 + 1], smem + A_BYTES + further(at_b, B_IS_MN, j, 0));

    u32 now = 0, ahead = (STAGES - 1) * STAGE_BYTES; // stages: multiplied, filled
    for (u32 step = 0; step < steps; step++) {
#pragma unroll
        for (u32 s = 0; s < 4; s++) {
            if (s == 0) {
                copy_operand(smem + ahead, &x, A_IS_MN, BM);
                copy_operand(smem + ahead + A_BYTES, &y, B_IS_MN, BN);
                async_commit();
                ahead = ahead + STAGE_BYTES == SHARED_BYTES ? 0 : ahead + STAGE_BYTES;
            }
            if (s == 3) {
                async_wait(STAGES - 2);
                barrier();
                now = now + STAGE_BYTES == SHARED_BYTES ? 0 : now + STAGE_BYTES;
            }
            // The words of the next step, while this one's are multiplied.
#pragma unroll
            for (u32 i = 0; i < TILES_M; i++)
                load_a(&wa[(s + 1) % 2][i], smem + now + further(at_a, A_IS_MN, i, (s + 1) % 4));
#pragma unroll
            for (u32 j = 0; j < TILES_N; j++)
                load_b(&wb[(s + 1) % 2][j * 2], &wb[(s + 1) % 2][j * 2 + 1],
                       smem + now + A_BYTES + further(at_b, B_IS_MN, j, (s + 1) % 4));
#pragma unroll
            for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
                for (u32 j = 0; j < TILES_N * 2; j++)
                    MULTIPLY(acc[i][j], wa[s % 2][i], wb[s % 2][j]);
        }
    }
    async_wait(0);

    result c = {.at = out + batch * out_batch, .rows = m, .columns = n, .stride = out_stride};
#if HAS_BIAS
    c.bias = bias;
#endif
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N * 2; j++) {
            u32 r = corner.x + row + i * 16 + lane() / 4, at = corner.y + column + j * 8 + lane() % 4 * 2;
            store_pair(c, r, at, acc[i][j][0], acc[i][j][1]);
            store_pair(c, r + 8, at, acc[i][j][2], acc[i][j][3]);
        }
}
