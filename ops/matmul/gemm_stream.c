// Products with few rows or few columns, through shared memory: the many rows of one operand, the
// long side, pass by once in a ring of stages that asynchronous copies fill, and each meets the few
// of the other, up to 64 at a time. A warp has 32 of the many. sm_80 and later.
//
// -D TYPE_bf16 (f16, tf32, e4m3, s8), -D OUT_bf16 (f16, f32, s32), -D EPILOGUE_bias (bias_relu …).
// A_IS_MN, B_IS_MN: operands of 16 bits that are stored [K,M], [K,N]; their rows start at multiples
// of 16 bytes. Rows along K start anywhere (ALIGNED 0): the granules of 16 bytes around them are
// copied, and shifted on the way to registers; numbers of 32 bits are copied one by one. HAS_PARTS: K is cut along the grid's z; each part
// stores sums of its own, which gemm_add.c adds.
//
// A stage has 128 bytes of K. The matrix unit does not care in which order its numbers are summed,
// as long as both operands agree: lane t of a row has the bytes from 32 * t on. Start reading at
// `gemm`, the last function.
#include <kiln/kernel.h>

tune(BM, 128, 256);                      // of the many that a block takes
tune(BN, 64, 8, 16, 24, 32, 40, 48, 56); // of the few; SWAP: a multiple of 16
tune(STAGES, 4, 2, 3);
tune(ALIGNED, 1, 0); // lines along K start at multiples of 16 bytes, and are as long
tune(SWAP, 0, 1);    // few rows: the long side is B
tune(HAS_PARTS, 0, 1);
tune(PAIRS, 1, 0); // pairs of results are aligned: N, the stride and the address are even
tune(GROUP, 8);
#include "gemm_common.h"

#if defined(TYPE_f16)
#    define MMA mma_f16
#elif defined(TYPE_tf32)
#    define MMA mma_tf32
#elif defined(TYPE_e4m3)
#    define MMA mma_e4m3
#elif defined(TYPE_s8)
#    define MMA mma_s8
#else
#    define MMA mma_bf16
#endif

enum {
    SIZE = sizeof(in_t),
    DEPTH = 128 / SIZE, // numbers of a stage along K
    ROWS = 32,          // of a warp
    THREADS = BM / ROWS * 32,
    SINGLES = !ALIGNED && SIZE == 4, // lines along K are copied number by number,
    SHIFTED = !ALIGNED && !SINGLES,  // or lie in shared memory as in memory
    LONG_IS_MN = SWAP ? B_IS_MN : A_IS_MN,
    FEW_IS_MN = SWAP ? A_IS_MN : B_IS_MN,
    FEWS = BN / 8,
    PITCH = 144,        // bytes of a line along K: nine granules keep the banks apart
    BLOCK_BYTES = 8192, // of 64 lines across K of 64 numbers
    LONG_BYTES = LONG_IS_MN ? BM / 64 * BLOCK_BYTES : BM * PITCH,
    STAGE_BYTES = LONG_BYTES + (FEW_IS_MN ? BLOCK_BYTES : BN * PITCH),
    SHARED_BYTES = STAGES * STAGE_BYTES
};

_Alignas(128) shared u8 smem[];

typedef struct operand {
    const u8 *at, *end; // the first line of the tile; behind the last number of the matrix
    u64 pitch;          // bytes
    u32 first,
        lines; // of the rows (or columns) of the product: the tile's first, how many are left
} operand;

static operand operand_of(const in_t *x, bool is_mn, u32 first, u32 size, u32 k, u32 stride)
{
    u64 pitch = (u64)stride * SIZE;
    const u8 *start = (const u8 *)x;
    return (operand){start + (is_mn ? first * (u64)SIZE : first * pitch),
                     start + ((is_mn ? k : size) - 1) * pitch + (is_mn ? size : k) * (u64)SIZE,
                     pitch, first, size > first ? size - first : 0};
}

// --- memory to shared memory
// Granule g of line `line` along K, from number `at` of K on. Bytes beyond the matrix are zeros,
// and nothing is read there; where rows start anywhere, what follows K in memory comes along.
static void copy_along(u8 *to, const operand *x, u32 line, u32 g, u32 at, u32 k)
{
    const u8 *from = x->at + line * x->pitch + at * (u32)SIZE;
    bool is_there = line < x->lines;
    if (ALIGNED) {
        async_copy_16_part(to + (line * PITCH + g * 16), from + g * 16,
                           is_there && at * SIZE + g * 16 < k * SIZE ? 16 : 0);
    } else {
        from += (i32)(g * 16) - (i32)((u32)(u64)from & 15);
        u32 bytes = from < x->end ? (u32)min((u64)(x->end - from), (u64)16) : 0;
        async_copy_16_part(to + (line * PITCH + g * 16), from, is_there ? bytes : 0);
    }
}

// All of a tile's lines along K, number by number: a warp has one line after the other. The address goes along, which
// takes fewer registers than one for each line.
static void copy_numbers(u8 *to, const operand *x, u32 lines, u32 at, u32 k)
{
    u32 line = warp();
    const u8 *from = x->at + line * x->pitch + (at + lane()) * (u32)SIZE;
    u64 step = x->pitch * (THREADS / 32);
    u32 there = at + lane() < k ? x->lines : 0;
#pragma unroll
    for (u32 i = 0; i < lines; i += THREADS / 32) {
        async_copy_4_part(to + (line * PITCH + lane() * 4), from, line < there ? 4 : 0);
        line += THREADS / 32;
        from += step;
    }
}

// Granule g of line `line` across K, of 64 of the tile's numbers. Lines that ldmatrix reads
// together differ in `key`.
static u32 place_across(u32 line, u32 g)
{
    u32 key = line / 16 * 2 + line % 2;
    return line * 128 + (g ^ key) * 16;
}

static void copy_across(u8 *to, const operand *x, u32 block, u32 line, u32 g, u32 at, u32 k)
{
    const u8 *from = x->at + (at + line) * x->pitch + (block * 128 + g * 16);
    u32 first = block * 64 + g * 8, count = x->lines > first ? min(x->lines - first, 8u) : 0;
    async_copy_16_part(to + (block * BLOCK_BYTES + place_across(line, g)), from,
                       at + line < k ? count * SIZE : 0);
}

// The tile's `lines` lines along K, or blocks of 64 numbers across it.
static void copy_tile(u8 *to, const operand *x, bool is_mn, u32 lines, u32 at, u32 k)
{
    u32 width = is_mn && lines < 64 ? lines / 8 : 8; // granules of a line
#pragma unroll
    for (u32 i = 0; !SINGLES && i < (is_mn ? (lines + 63) / 64 * 64 : lines) * 8; i += THREADS) {
        u32 n = i + thread_x(), line = n / 8, g = n % 8;
        if (is_mn && (width == 8 || g < width))
            copy_across(to, x, line / 64, line % 64, g, at, k);
        if (!is_mn && (lines * 8 % THREADS == 0 || line < lines))
            copy_along(to, x, line, g, at, k);
    }
    if (SINGLES)
        copy_numbers(to, x, lines, at, k);
#pragma unroll
    for (u32 i = 0; SHIFTED && !is_mn && i < lines; i += THREADS)
        if (lines % THREADS == 0 || i + thread_x() < lines)
            copy_along(to, x, i + thread_x(), 8, at, k);
}

// --- shared memory to registers
// 32 of 48 bytes, those that start `skipped` bytes behind the first.
static void shift(u32 *to, const u32 *from, u32 skipped)
{
    u32 w[12];
#pragma unroll
    for (u32 i = 0; i < 12; i++)
        w[i] = from[i];
#pragma unroll
    for (u32 i = 0; i < 10; i++)
        w[i] = skipped & 8 ? w[i + 2] : w[i];
#pragma unroll
    for (u32 i = 0; i < 9; i++)
        w[i] = skipped & 4 ? w[i + 1] : w[i];
#pragma unroll
    for (u32 i = 0; i < 8; i++)
        to[i] = (u32)(((u64)w[i + 1] << 32 | w[i]) >> (skipped % 4 * 8));
}

// Eight lines from `line` of a tile on: of line lane / 4 the lane's 32 bytes. `rest`: bytes of K
// that are left.
static void load_eight(u32 *to, const u8 *tile, const operand *x, bool is_mn, u32 line, u32 rest)
{
    u32 l = lane(), t = l % 4;
    if (is_mn) {
        const u8 *block = tile + line / 64 * BLOCK_BYTES;
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            u32 words[4], k = l % 8 / 2 * 16 + (half * 2 + l / 16) * 4 + l / 8 % 2 * 2 + l % 2;
            ldmatrix_transposed(words, block + place_across(k, line % 64 / 8));
#pragma unroll
            for (u32 i = 0; i < 4; i++)
                to[half * 4 + i] = words[i];
        }
    } else {
        u32 words[12], own = line + l / 4;
        const u32x4 *from = (const u32x4 *)(tile + (own * PITCH + t * 32));
#pragma unroll
        for (u32 i = 0; i < (SHIFTED ? 3u : 2u); i++) {
            u32x4 v = from[i];
            words[i * 4] = v.x;
            words[i * 4 + 1] = v.y;
            words[i * 4 + 2] = v.z;
            words[i * 4 + 3] = v.w;
        }
        if (!SHIFTED) {
#pragma unroll
            for (u32 i = 0; i < 8; i++)
                to[i] = words[i];
        } else {
            shift(to, words, ((u32)(u64)x->at + own * (u32)x->pitch) & 15);
            if (rest < 128)
#pragma unroll
                for (u32 i = 0; i < 8; i++) {
                    u32 place = t * 32 + i * 4, bytes = rest > place ? min(rest - place, 4u) : 0;
                    to[i] &= bytes == 4 ? ~0u : (1u << (bytes * 8)) - 1;
                }
        }
    }
}

// --- products
enum { TILES_M = SWAP ? FEWS / 2 : ROWS / 16, TILES_N = SWAP ? ROWS / 8 : FEWS };
typedef acc_t sums[TILES_M][TILES_N][4]; // of a warp

// The left operand of a tile is two times eight lines, the right one eight.
static void multiply_tile(acc_t (*sum)[4], const u32 *upper, const u32 *lower, const u32 *right,
                          u32 j)
{
    u32 a[4] = {upper[j * 2], lower[j * 2], upper[j * 2 + 1], lower[j * 2 + 1]},
        b[2] = {right[j * 2], right[j * 2 + 1]};
    MMA(*sum, a, b);
}

static void multiply(sums *acc, const u8 *stage, const operand *many, const operand *few, u32 rest)
{
    u32 x[ROWS / 8][8];
#pragma unroll
    for (u32 i = 0; i < ROWS / 8; i++)
        load_eight(x[i], stage, many, LONG_IS_MN, warp() * ROWS + i * 8, rest);
#pragma unroll
    for (u32 i = 0; i < FEWS; i += 1 + SWAP) {
        u32 y[1 + SWAP][8];
#pragma unroll
        for (u32 h = 0; h <= SWAP; h++)
            load_eight(y[h], stage + LONG_BYTES, few, FEW_IS_MN, (i + h) * 8, rest);
#pragma unroll
        for (u32 j = 0; j < 4; j++)
#pragma unroll
            for (u32 n = 0; n < (SWAP ? ROWS / 8 : ROWS / 16); n++) {
                if (SWAP)
                    multiply_tile(&(*acc)[i / 2][n], y[0], y[SWAP], x[n], j);
                else
                    multiply_tile(&(*acc)[n][i], x[n * 2], x[n * 2 + 1], y[0], j);
            }
    }
}

// --- the kernel
kernel block(THREADS) void gemm(const in_t *a, const in_t *b, out_t *out,
#if HAS_BIAS
                                const f32 *bias,
#endif
                                u32 m, u32 n, u32 k, u32 a_stride, u32 b_stride, u32 out_stride,
                                u64 a_batch, u64 b_batch, u64 out_batch)
{
    u64 batch = block_y();
    u32 all = (k + DEPTH - 1) / DEPTH, begin = 0, end = all;
    result c = {.at = out + batch * out_batch, .rows = m, .columns = n, .stride = out_stride};
#if HAS_BIAS
    c.bias = bias;
#endif
    if (HAS_PARTS) {
        u32 part = block_z();
        begin = (u32)((u64)all * part / grid_dim_z());
        end = (u32)((u64)all * (part + 1) / grid_dim_z());
        c.at += part * ((u64)m * out_stride);
    }
    a += batch * a_batch;
    b += batch * b_batch;
    u32 fews = SWAP ? m : n, few_tiles = (fews + BN - 1) / BN;
    u32 row = block_x() / few_tiles * BM, column = block_x() % few_tiles * BN;
    operand many =
        operand_of(SWAP ? b : a, LONG_IS_MN, row, SWAP ? n : m, k, SWAP ? b_stride : a_stride);
    operand few = operand_of(SWAP ? a : b, FEW_IS_MN, column, fews, k, SWAP ? a_stride : b_stride);
    sums acc;
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N; j++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                acc[i][j][e] = 0;
    if (target_sm() >= 90) {
        next_kernel_launch();
        previous_kernel_wait();
    }
    u32 stage = 0, ahead = 0;
    for (u32 at = begin; at < end + STAGES - 1; at++) {
        // The stage of STAGES - 1 steps before has come, and all warps are done with the one before
        // that.
        if (at >= begin + STAGES - 1) {
            async_wait(STAGES - 2);
            barrier();
        }
        if (at < end) {
            copy_tile(smem + ahead, &many, LONG_IS_MN, BM, at * DEPTH, k);
            copy_tile(smem + ahead + LONG_BYTES, &few, FEW_IS_MN, BN, at * DEPTH, k);
        }
        async_commit();
        ahead = ahead + STAGE_BYTES == SHARED_BYTES ? 0 : ahead + STAGE_BYTES;
        if (at >= begin + STAGES - 1) {
            multiply(&acc, smem + stage, &many, &few, (k - (at - (STAGES - 1)) * DEPTH) * SIZE);
            stage = stage + STAGE_BYTES == SHARED_BYTES ? 0 : stage + STAGE_BYTES;
        }
    }
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N; j++) {
            u32 y = (SWAP ? column : row + warp() * ROWS) + i * 16 + lane() / 4;
            u32 x = (SWAP ? row + warp() * ROWS : column) + j * 8 + lane() % 4 * 2;
            store_pair(c, y, x, acc[i][j][0], acc[i][j][1]);
            store_pair(c, y + 8, x, acc[i][j][2], acc[i][j][3]);
        }
}
