// C[M,N] = A * B on every device, with matrix fragments: tiles go through registers into shared memory,
// two buffers in turns, and warps multiply from there. Any M, N, K, strides and alignment.
//
// Types: bf16, f16, s8, and e4m3, which becomes f16 on its way to shared memory (exactly). -D A_MN /
// -D B_MN for operands stored [K,M] / [K,N]: their tiles stay that way, and the fragments' loads turn them.
#include <kiln/kernel.h>

tune(BM, 128, 32, 64);
tune(BN, 128, 32, 64, 256);
tune(WARPS_M, 2, 1);
tune(WARPS_N, 4, 1, 2);
tune(GROUP, 8, 1);
tune(PAIRS, 1, 0);   // pairs of results are aligned: N, the stride and the address are even
tune(ALIGNED, 1, 0); // lines of the operands start at multiples of 16 bytes

#include "gemm_common.h"

#if defined(TYPE_f16)
typedef f16 tile_t;
#define MULTIPLY fragment_multiply_f16
#define BITS(x) bits_f16(x)
#elif defined(TYPE_e4m3)
typedef f16 tile_t;
#define MULTIPLY fragment_multiply_f16
#define BITS(x) bits_f16(to_f16(f32(x)))
#elif defined(TYPE_s8)
typedef i8 tile_t;
#define MULTIPLY fragment_multiply_i8
#define BITS(x) ((u8)(x))
#else
typedef bf16 tile_t;
#define MULTIPLY fragment_multiply_bf16
#define BITS(x) bits_bf16(x)
#endif

enum {
    SIZE = sizeof(tile_t),
    GRANULE = 16 / SIZE, // elements
    DEPTH = 64 / SIZE,   // of a tile along K: two fragments
    FRAGMENT = 32 / SIZE,
    THREADS = WARPS_M * WARPS_N * 32,
    TILES_M = BM / WARPS_M / 16,
    TILES_N = BN / WARPS_N / 16,
    // Lines of a tile and their distance: 16 bytes more than they need keep the banks apart.
    A_LINES = A_IS_MN ? DEPTH : BM,
    B_LINES = B_IS_MN ? DEPTH : BN,
    A_STRIDE = (A_IS_MN ? BM : DEPTH) + GRANULE,
    B_STRIDE = (B_IS_MN ? BN : DEPTH) + GRANULE,
    A_COUNT = BM * DEPTH / GRANULE, // granules
    B_COUNT = BN * DEPTH / GRANULE,
    BUFFER = A_LINES * A_STRIDE + B_LINES * B_STRIDE, // elements
    SHARED_BYTES = 2 * BUFFER * SIZE
};

_Alignas(16) shared tile_t tiles[];

// --- memory to registers to shared memory

typedef struct matrix { // `lines` lines of `count` elements
    const in_t *at;
    u32 lines, count;
    u64 stride;
} matrix;

// Element e of a granule where it belongs in its words.
static void put(u32 (*words)[4], u32 e, u32 bits)
{
    (*words)[e * SIZE / 4] |= bits << (e * SIZE % 4 * 8);
}

static u32x4 load_granule(matrix x, u32 line, u32 element)
{
    u32 words[4] = {0, 0, 0, 0};
    if (line < x.lines && element < x.count) {
        const in_t *from = x.at + (line * x.stride + element);
#pragma unroll
        for (u32 e = 0; e < GRANULE; e++)
            if (element + e < x.count)
                put(&words, e, BITS(from[e]));
    }
    return (u32x4){words[0], words[1], words[2], words[3]};
}

enum { A_EACH = (A_COUNT + THREADS - 1) / THREADS, B_EACH = (B_COUNT + THREADS - 1) / THREADS };

// Granule number `at` of a tile: its line and its element in the line.
static u32x2 place_of(u32 at, bool is_mn, u32 size)
{
    u32 width = (is_mn ? size : (u32)DEPTH) / GRANULE;
    return (u32x2){at / width, at % width * GRANULE};
}

static void load_tile(u32x4 *to, u32 count, matrix x, bool is_mn, u32 size, u32 first, u32 k)
{
    u32 line = is_mn ? k : first, element = is_mn ? first : k; // of the tile's corner
    u32 lines = is_mn ? (u32)DEPTH : size, width = is_mn ? size : (u32)DEPTH;
    if (ALIGNED && count * THREADS == size * DEPTH / GRANULE && line + lines <= x.lines &&
        element + width <= x.count) { // all of it is there
        const in_t *from = x.at + (line * x.stride + element);
#pragma unroll
        for (u32 i = 0; i < count; i++) {
            u32x2 at = place_of(i * THREADS + thread_x(), is_mn, size);
            to[i] = *(const u32x4 *)(from + (at.x * x.stride + at.y));
        }
    } else {
#pragma unroll
        for (u32 i = 0; i < count; i++) {
            u32x2 at = place_of(i * THREADS + thread_x(), is_mn, size);
            to[i] = load_granule(x, line + at.x, element + at.y);
        }
    }
}

static void keep_tile(tile_t *to, u32 stride, const u32x4 *from, u32 count, bool is_mn, u32 size)
{
#pragma unroll
    for (u32 i = 0; i < count; i++) {
        u32x2 at = place_of(i * THREADS + thread_x(), is_mn, size);
        u32 slot = at.x * stride + at.y;
        if ((i + 1) * THREADS <= size * DEPTH / GRANULE || i * THREADS + thread_x() < size * DEPTH / GRANULE)
            *(u32x4 *)(to + slot) = from[i];
    }
}

// --- shared memory to fragments

static void load_a(u32 *words, const tile_t *tile, u32 row, u32 k)
{
    if (A_IS_MN)
        fragment_load_a_t(words, tile + (k * A_STRIDE + row), A_STRIDE);
    else
        fragment_load_a(words, tile + (row * A_STRIDE + k), A_STRIDE);
}

static void load_b(u32 *words, const tile_t *tile, u32 column, u32 k)
{
    if (B_IS_MN)
        fragment_load_b(words, tile + (k * B_STRIDE + column), B_STRIDE);
    else
        fragment_load_b_t(words, tile + (column * B_STRIDE + k), B_STRIDE);
}

static void multiply(acc_t (*sum)[TILES_M][TILES_N][8], const tile_t *tile, u32 row, u32 column)
{
#pragma unroll
    for (u32 k = 0; k < DEPTH; k += FRAGMENT) {
        u32 a[TILES_M][4], b[TILES_N][4];
#pragma unroll
        for (u32 i = 0; i < TILES_M; i++)
            load_a(a[i], tile, row + i * 16, k);
#pragma unroll
        for (u32 j = 0; j < TILES_N; j++)
            load_b(b[j], tile + A_LINES * A_STRIDE, column + j * 16, k);
#pragma unroll
        for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
            for (u32 j = 0; j < TILES_N; j++)
                MULTIPLY((*sum)[i][j], a[i], b[j]);
    }
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
    u32x2 corner = tile_at(block_x(), (m + BM - 1) / BM, (n + BN - 1) / BN);
    matrix x = {a + batch * a_batch, A_IS_MN ? k : m, A_IS_MN ? m : k, a_stride};
    matrix y = {b + batch * b_batch, B_IS_MN ? k : n, B_IS_MN ? n : k, b_stride};
    u32 row = warp() / WARPS_N * (BM / WARPS_M), column = warp() % WARPS_N * (BN / WARPS_N);
    acc_t sum[TILES_M][TILES_N][8];
    u32x4 next_a[A_EACH], next_b[B_EACH];
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N; j++)
#pragma unroll
            for (u32 e = 0; e < 8; e++)
                sum[i][j][e] = 0;

    u32 now = 0;
    load_tile(next_a, A_EACH, x, A_IS_MN, BM, corner.x, 0);
    load_tile(next_b, B_EACH, y, B_IS_MN, BN, corner.y, 0);
    for (u32 at = 0; at < k; at += DEPTH) {
        keep_tile(tiles + now, A_STRIDE, next_a, A_EACH, A_IS_MN, BM);
        keep_tile(tiles + now + A_LINES * A_STRIDE, B_STRIDE, next_b, B_EACH, B_IS_MN, BN);
        barrier();
        load_tile(next_a, A_EACH, x, A_IS_MN, BM, corner.x, at + DEPTH); // beyond K: zeros
        load_tile(next_b, B_EACH, y, B_IS_MN, BN, corner.y, at + DEPTH);
        multiply(&sum, tiles + now, row, column);
        now = BUFFER - now;
    }

    result c = {.at = out + batch * out_batch, .rows = m, .columns = n, .stride = out_stride};
#if HAS_BIAS
    c.bias = bias;
#endif
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N; j++)
#pragma unroll
            for (u32 e = 0; e < 8; e += 2)
                store_pair(c, corner.x + row + i * 16 + fragment_row(e), corner.y + column + j * 16 + fragment_column(e),
                           sum[i][j][e], sum[i][j][e + 1]);
}
