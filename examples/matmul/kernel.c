// c = a * b, tiled through shared memory, each thread with its own small square of results in registers.
#include <kiln/kernel.h>

tune(TILE, 32, 64); // rows and columns of C per block
enum { STEP = 8, PER = 4, THREADS = TILE / PER };

// c: [m, n] = a: [m, k] times b: [k, n]
kernel block(THREADS, THREADS) void matmul(const f32 *a, const f32 *b, f32 *c, u32 m, u32 n, u32 k)
{
    shared f32 a_tile[STEP][TILE];
    shared f32 b_tile[STEP][TILE];
    f32 sum[PER][PER] = {0};
    u32 row0 = block_y() * TILE, col0 = block_x() * TILE, t = thread_rank();

    for (u32 k0 = 0; k0 < k; k0 += STEP) {
        for (u32 e = t; e < TILE * STEP; e += THREADS * THREADS) {
            u32 i = e / STEP, j = e % STEP;
            a_tile[j][i] = row0 + i < m && k0 + j < k ? a[(u64)(row0 + i) * k + k0 + j] : 0;
            u32 p = e / TILE, q = e % TILE;
            b_tile[p][q] = k0 + p < k && col0 + q < n ? b[(u64)(k0 + p) * n + col0 + q] : 0;
        }
        barrier();
        for (u32 p = 0; p < STEP; p++)
            for (u32 i = 0; i < PER; i++)
                for (u32 j = 0; j < PER; j++)
                    sum[i][j] += a_tile[p][thread_y() * PER + i] * b_tile[p][thread_x() * PER + j];
        barrier();
    }
    for (u32 i = 0; i < PER; i++)
        for (u32 j = 0; j < PER; j++) {
            u32 row = row0 + thread_y() * PER + i, col = col0 + thread_x() * PER + j;
            if (row < m && col < n)
                c[(u64)row * n + col] = sum[i][j];
        }
}
