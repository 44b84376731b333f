// c = a * b in f32. A block makes 128 x 128 of c, a thread 8 x 8 of it, in steps of 16 along k; the next step's tiles are on their way from
// memory while this one's are multiplied. m and n are multiples of 128, k of 16; no matrix has more than 2^32 elements.
#include <kiln/kernel.h>

tune(BLOCKS, 2, 1); // of a multiprocessor at once
enum { TILE = 128, STEP = 16, PAD = 4 };

// c: [m, n] = a: [m, k] times b: [k, n]
kernel block(256) min_blocks(BLOCKS) void matmul(const f32 *restrict a, const f32 *restrict b, f32 *restrict c, u32 m, u32 n, u32 k)
{
    shared f32x4 a_tile[2][STEP][(TILE + PAD) / 4]; // turned: a_tile[·][k][row / 4]
    shared f32x4 b_tile[2][STEP][TILE / 4];
    const f32x4 *a4 = (const f32x4 *)a, *b4 = (const f32x4 *)b;
    u32 t = thread_x();
    // Loading: two groups of four along k of A (rows t / 4 and 64 more), two along n of B (rows t / 32 and 8 more).
    u32 a_at = (block_y() * TILE + t / 4) * (k / 4) + t % 4, b_at = t / 32 * (n / 4) + block_x() * (TILE / 4) + t % 32;
    // Computing: rows row * 4 + {0..3} and 64 more, columns col * 4 + {0..3} and 64 more.
    u32 row = t / 16, col = t % 16, now = 0;
    f32 sum[8][8];
#pragma unroll
    for (u32 i = 0; i < 8; i++)
#pragma unroll
        for (u32 j = 0; j < 8; j++)
            sum[i][j] = 0;

    f32x4 a0 = a4[a_at], a1 = a4[a_at + 16 * k], b0 = b4[b_at], b1 = b4[b_at + 2 * n];
    for (u32 k0 = 0; k0 < k; k0 += STEP) {
        f32 *turned = (f32 *)&a_tile[now][t % 4 * 4][0] + t / 4;
        turned[0 * (TILE + PAD)] = a0.x;
        turned[1 * (TILE + PAD)] = a0.y;
        turned[2 * (TILE + PAD)] = a0.z;
        turned[3 * (TILE + PAD)] = a0.w;
        turned[0 * (TILE + PAD) + 64] = a1.x;
        turned[1 * (TILE + PAD) + 64] = a1.y;
        turned[2 * (TILE + PAD) + 64] = a1.z;
        turned[3 * (TILE + PAD) + 64] = a1.w;
        b_tile[now][t / 32][t % 32] = b0;
        b_tile[now][t / 32 + 8][t % 32] = b1;
        barrier();
        if (k0 + STEP < k) { // the last step loads its own tiles once more, which costs less than a branch around four loads
            a_at += STEP / 4;
            b_at += STEP / 4 * n;
        }
        a0 = a4[a_at];
        a1 = a4[a_at + 16 * k];
        b0 = b4[b_at];
        b1 = b4[b_at + 2 * n];
#pragma unroll
        for (u32 p = 0; p < STEP; p++) {
            f32x4 x0 = a_tile[now][p][row], x1 = a_tile[now][p][row + 16];
            f32x4 y0 = b_tile[now][p][col], y1 = b_tile[now][p][col + 16];
            f32 x[8] = {x0.x, x0.y, x0.z, x0.w, x1.x, x1.y, x1.z, x1.w};
            f32 y[8] = {y0.x, y0.y, y0.z, y0.w, y1.x, y1.y, y1.z, y1.w};
#pragma unroll
            for (u32 i = 0; i < 8; i++)
#pragma unroll
                for (u32 j = 0; j < 8; j++)
                    sum[i][j] = fma(x[i], y[j], sum[i][j]);
        }
        now = 1 - now;
    }
#pragma unroll
    for (u32 i = 0; i < 8; i++) {
        u32 out_row = block_y() * TILE + row * 4 + i % 4 + i / 4 * 64;
        f32x4 *to = (f32x4 *)(c + (u64)out_row * n + block_x() * TILE) + col;
        f32x4 left = {sum[i][0], sum[i][1], sum[i][2], sum[i][3]}, right = {sum[i][4], sum[i][5], sum[i][6], sum[i][7]};
        to[0] = left;
        to[16] = right;
    }
}
