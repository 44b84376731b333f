// Rung 3 of the ladder: a thread computes 8 x 8 results. Of 16 numbers that it reads from shared
// memory it makes 64 products, where rung 2 reads two for each.
// Any m and n; k is a multiple of 8. Runs on every device.
#include <kiln/kernel.h>

enum { BM = 128, BN = 128, BK = 16, PAD = 4 };

// 128 rows of an operand, BK wide, into a tile that is stored transposed: [k][row]. A thread loads
// eight numbers of one row, 16 bytes.
static void load_tile(f32 (*tile)[BM + PAD], const bf16 *from, u32 first, u32 rows, u32 k0, u32 k)
{
    u32 row = thread_x() / 2, column = thread_x() % 2 * 8;
    bool inside = first + row < rows && k0 + column < k; // outside the matrix zeros are stored
    bf16x8 part = *(const bf16x8 *)(from + (inside ? (u64)(first + row) * k + k0 + column : 0));
#pragma unroll
    for (u32 i = 0; i < 8; i++)
        tile[column + i][row] = inside ? f32(part.e[i]) : 0.0f;
}

// Eight numbers of a row of a tile: four at `at` and four 64 further on. The lanes of a warp then read
// neighbouring 16-byte words.
static void read_eight(f32 (*to)[8], const f32 *at)
{
#pragma unroll
    for (u32 i = 0; i < 8; i += 4) {
        f32x4 part = *(const f32x4 *)(at + i * 16);
        (*to)[i] = part.x;
        (*to)[i + 1] = part.y;
        (*to)[i + 2] = part.z;
        (*to)[i + 3] = part.w;
    }
}

// c: [m, n] = a: [m, k] times b: [n, k] transposed
kernel block(256) min_blocks(2) void matmul(const bf16 *restrict a, const bf16 *restrict b,
                                            bf16 *restrict c, u32 m, u32 n, u32 k)
{
    _Alignas(16) shared f32 a_tile[BK][BM + PAD], b_tile[BK][BN + PAD];
    u32 row0 = block_y() * BM, column0 = block_x() * BN;
    u32 y = thread_x() / 16 * 4, x = thread_x() % 16 * 4;
    f32 sum[8][8] = {0};
    for (u32 k0 = 0; k0 < k; k0 += BK) {
        load_tile(a_tile, a, row0, m, k0, k);
        load_tile(b_tile, b, column0, n, k0, k);
        barrier();
#pragma unroll
        for (u32 p = 0; p < BK; p++) {
            f32 of_a[8], of_b[8];
            read_eight(&of_a, &a_tile[p][y]);
            read_eight(&of_b, &b_tile[p][x]);
#pragma unroll
            for (u32 i = 0; i < 8; i++)
#pragma unroll
                for (u32 j = 0; j < 8; j++)
                    sum[i][j] = fma(of_a[i], of_b[j], sum[i][j]);
        }
        barrier();
    }
#pragma unroll
    for (u32 i = 0; i < 8; i++) {
        u32 row = row0 + y + i % 4 + i / 4 * 64;
        bf16 *line = c + (u64)row * n;
#pragma unroll
        for (u32 j = 0; j < 8; j++) {
            u32 column = column0 + x + j % 4 + j / 4 * 64;
            if (row < m && column < n)
                line[column] = to_bf16(sum[i][j]);
        }
    }
}
