// C[M,N] = A * B in plain f32 on every device: each thread keeps 8 x 8 sums, fed from two buffers of shared
// memory in turns. A sum is fma by fma in the order of K, so every device gives the same bits.
//
// Any M, N, K, strides and alignment; A_IS_MN, B_IS_MN for operands stored [K,M], [K,N]. In shared memory
// lines always run along M and N: operands stored along K are transposed on their way there.
#include <kiln/kernel.h>

tune(TILE, 128, 32, 64);
tune(GROUP, 8, 1);
tune(PAIRS, 1, 0);   // pairs of results are aligned: N, the stride and the address are even
tune(ALIGNED, 1, 0); // lines of the operands start at multiples of 16 bytes
enum { BM = TILE, BN = TILE };

#ifndef OUT_f32
#define OUT_f32
#endif
#include "gemm_common.h"

enum {
    STEP = 16,
    STRIDE = TILE + 4, // keeps the transposed stores on different banks
    THREADS = TILE / 8 * (TILE / 8),
    EACH = TILE * STEP / 4 / THREADS // groups of four that a thread loads of each operand
};

typedef struct matrix { // `lines` lines of `count` elements
    const f32 *at;
    u32 lines, count;
    u64 stride;
} matrix;

static f32x4 load_four(matrix x, u32 line, u32 element)
{
    f32 v[4] = {0, 0, 0, 0};
    if (line < x.lines && element < x.count) {
        const f32 *from = x.at + (line * x.stride + element);
        if (ALIGNED && element + 4 <= x.count)
            return *(const f32x4 *)from;
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            if (element + e < x.count)
                v[e] = from[e];
    }
    return (f32x4){v[0], v[1], v[2], v[3]};
}

static void load_tile(f32x4 *to, matrix x, bool is_mn, u32 first, u32 k)
{
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 at = i * THREADS + thread_x();
        to[i] = is_mn ? load_four(x, k + at / (TILE / 4), first + at % (TILE / 4) * 4)
                      : load_four(x, first + at / 4, k + at % 4 * 4);
    }
}

static void keep_tile(f32 *to, const f32x4 *from, bool is_mn)
{
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 at = i * THREADS + thread_x();
        f32x4 v = from[i];
        if (is_mn) {
            u32 slot = at / (TILE / 4) * STRIDE + at % (TILE / 4) * 4;
            *(f32x4 *)(to + slot) = v;
        } else {
            u32 slot = at % 4 * (4 * STRIDE) + at / 4;
            to[slot] = v.x;
            to[slot + STRIDE] = v.y;
            to[slot + 2 * STRIDE] = v.z;
            to[slot + 3 * STRIDE] = v.w;
        }
    }
}

// Eight numbers of a line: four at `at`, four half a tile further.
static void load_eight(f32 *v, const f32 *line, u32 at)
{
    f32x4 low = *(const f32x4 *)(line + at), high = *(const f32x4 *)(line + at + TILE / 2);
    v[0] = low.x;
    v[1] = low.y;
    v[2] = low.z;
    v[3] = low.w;
    v[4] = high.x;
    v[5] = high.y;
    v[6] = high.z;
    v[7] = high.w;
}

kernel block(THREADS) min_blocks(TILE == 128 ? 2 : 4) void gemm(const f32 *a, const f32 *b, f32 *out,
#if HAS_BIAS
                                const f32 *bias,
#endif
                                u32 m, u32 n, u32 k, u32 a_stride, u32 b_stride, u32 out_stride, u64 a_batch, u64 b_batch,
                                u64 out_batch
#if defined(GROUPED)
                                , const i32 *ends, u32 groups
#endif
)
{
    _Alignas(16) shared f32 tiles[2][2][STEP * STRIDE];
    u64 batch = block_y();
#if defined(GROUPED)
    u32 columns = (n + BN - 1) / BN;
    group g = group_of(ends, groups, m, block_x() / columns);
    u32x2 origin = {g.tile * BM, block_x() % columns * BN};
    m = g.rows;
    if (m == 0)
        return;
    a += A_IS_MN ? g.begin : g.begin * (u64)a_stride;
    b += g.index * b_batch;
    out += g.begin * (u64)out_stride;
#else
    u32x2 origin = tile_at(block_x(), (m + BM - 1) / BM, (n + BN - 1) / BN);
#endif
    matrix x = {a + batch * a_batch, A_IS_MN ? k : m, A_IS_MN ? m : k, a_stride};
    matrix y = {b + batch * b_batch, B_IS_MN ? k : n, B_IS_MN ? n : k, b_stride};
    u32 row = thread_x() / (TILE / 8) * 4, column = thread_x() % (TILE / 8) * 4, now = 0;
    f32 sum[8][8];
    f32x4 next_a[EACH], next_b[EACH];
#pragma unroll
    for (u32 i = 0; i < 8; i++)
#pragma unroll
        for (u32 j = 0; j < 8; j++)
            sum[i][j] = 0;

    load_tile(next_a, x, A_IS_MN, origin.x, 0);
    load_tile(next_b, y, B_IS_MN, origin.y, 0);
    for (u32 at = 0; at < k; at += STEP) {
        keep_tile(tiles[now][0], next_a, A_IS_MN);
        keep_tile(tiles[now][1], next_b, B_IS_MN);
        barrier();
        load_tile(next_a, x, A_IS_MN, origin.x, at + STEP); // beyond K: zeros
#pragma unroll
        for (u32 p = 0; p < STEP; p++) {
            f32 u[8], v[8];
            if (p == STEP / 2) // both at once would not fit into the registers
                load_tile(next_b, y, B_IS_MN, origin.y, at + STEP);
            load_eight(u, tiles[now][0] + p * STRIDE, row);
            load_eight(v, tiles[now][1] + p * STRIDE, column);
#pragma unroll
            for (u32 i = 0; i < 8; i++)
#pragma unroll
                for (u32 j = 0; j < 8; j++)
                    sum[i][j] = fma(u[i], v[j], sum[i][j]);
        }
        now = 1 - now;
    }

    result c = {.at = out + batch * out_batch, .rows = m, .columns = n, .stride = out_stride};
#if HAS_BIAS
    c.bias = bias;
#endif
#pragma unroll
    for (u32 i = 0; i < 8; i++)
#pragma unroll
        for (u32 j = 0; j < 8; j += 2)
            store_pair(c, origin.x + row + i % 4 + i / 4 * (TILE / 2), origin.y + column + j % 4 + j / 4 * (TILE / 2),
                       sum[i][j], sum[i][j + 1]);
}
