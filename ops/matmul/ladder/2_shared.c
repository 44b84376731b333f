// Rung 2 of the ladder: the threads of a block load tiles of A and B into shared memory together, so
// that every number is read from memory once for 32 results instead of once for each.
// Any m, n and k. Runs on every device.
#include <kiln/kernel.h>

enum { BM = 32, BN = 32, BK = 32, PAD = 1 }; // the pad: lanes that read a column meet no bank twice

// c: [m, n] = a: [m, k] times b: [n, k] transposed
kernel block(BN, BM) void matmul(const bf16 *a, const bf16 *b, bf16 *c, u32 m, u32 n, u32 k)
{
    shared f32 a_tile[BM][BK + PAD], b_tile[BN][BK + PAD];
    u32 x = thread_x(), y = thread_y();
    u32 a_row = block_y() * BM + y, b_row = block_x() * BN + y;
    f32 sum = 0;
    for (u32 k0 = 0; k0 < k; k0 += BK) {
        bool inside = k0 + x < k;
        a_tile[y][x] = inside && a_row < m ? f32(a[(u64)a_row * k + k0 + x]) : 0.0f;
        b_tile[y][x] = inside && b_row < n ? f32(b[(u64)b_row * k + k0 + x]) : 0.0f;
        barrier(); // the tiles are complete
        for (u32 p = 0; p < BK; p++)
            sum = fma(a_tile[y][p], b_tile[x][p], sum);
        barrier(); // nobody reads them any more
    }
    u32 row = block_y() * BM + y, column = block_x() * BN + x;
    if (row < m && column < n)
        c[(u64)row * n + column] = to_bf16(sum);
}
