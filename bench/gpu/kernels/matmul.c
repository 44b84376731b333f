// c = a * b in f32. A block makes ROWS x 128 of c, a thread ROWS / 16 x 8 of it, in steps of 16 along k; the next step's tiles are on
// their way from memory while this one's are multiplied. m is a multiple of ROWS, n of 128, k of 16; no matrix has more than 2^32 elements.
#include <kiln/kernel.h>

tune(ROWS, 128, 64); // 64: twice the blocks, where 128 gives too few for the GPU
enum { COLUMNS = 128, STEP = 16, PAD = 4, PARTS = ROWS / 64 };

typedef struct loads { // what a thread has on its way: fours along k of A, along n of B
    f32x4 a[PARTS], b[2];
} loads;

// Rows t / 4 and 64 more of A, rows t / 32 and 8 more of B.
static void load(loads *l, const f32x4 *a, u32 a_at, const f32x4 *b, u32 b_at, u32 n, u32 k)
{
    l->a[0] = a[a_at];
    if (PARTS == 2)
        l->a[PARTS - 1] = a[a_at + 16 * k];
    l->b[0] = b[b_at];
    l->b[1] = b[b_at + 2 * n];
}

// c: [m, n] = a: [m, k] times b: [k, n]
kernel block(256) min_blocks(2) void matmul(const f32 *restrict a, const f32 *restrict b, f32 *restrict c, u32 m, u32 n, u32 k)
{
    shared f32x4 a_tile[2][STEP][(ROWS + PAD) / 4]; // turned: a_tile[·][k][row / 4]
    shared f32x4 b_tile[2][STEP][COLUMNS / 4];
    const f32x4 *a4 = (const f32x4 *)a, *b4 = (const f32x4 *)b;
    u32 t = thread_x();
    u32 a_at = (block_y() * ROWS + t / 4) * (k / 4) + t % 4, b_at = t / 32 * (n / 4) + block_x() * (COLUMNS / 4) + t % 32;
    // Computing: rows row * 4 + {0..3} and 64 more, columns col * 4 + {0..3} and 64 more.
    u32 row = t / 16, col = t % 16, now = 0;
    f32 sum[PARTS * 4][8];
#pragma unroll
    for (u32 i = 0; i < PARTS * 4; i++)
#pragma unroll
        for (u32 j = 0; j < 8; j++)
            sum[i][j] = 0;

    loads next;
    load(&next, a4, a_at, b4, b_at, n, k);
    for (u32 k0 = 0; k0 < k; k0 += STEP) {
        f32 *turned = (f32 *)&a_tile[now][t % 4 * 4][0] + t / 4;
#pragma unroll
        for (u32 i = 0; i < PARTS; i++) {
            turned[0 * (ROWS + PAD) + i * 64] = next.a[i].x;
            turned[1 * (ROWS + PAD) + i * 64] = next.a[i].y;
            turned[2 * (ROWS + PAD) + i * 64] = next.a[i].z;
            turned[3 * (ROWS + PAD) + i * 64] = next.a[i].w;
        }
        b_tile[now][t / 32][t % 32] = next.b[0];
        b_tile[now][t / 32 + 8][t % 32] = next.b[1];
        barrier();
        if (k0 + STEP < k) { // the last step loads its own tiles once more, which costs less than a branch around the loads
            a_at += STEP / 4;
            b_at += STEP / 4 * n;
        }
        load(&next, a4, a_at, b4, b_at, n, k);
#pragma unroll
        for (u32 p = 0; p < STEP; p++) {
            f32x4 y0 = b_tile[now][p][col], y1 = b_tile[now][p][col + 16];
            f32 y[8] = {y0.x, y0.y, y0.z, y0.w, y1.x, y1.y, y1.z, y1.w};
#pragma unroll
            for (u32 i = 0; i < PARTS; i++) {
                f32x4 x4 = a_tile[now][p][row + i * 16];
                f32 x[4] = {x4.x, x4.y, x4.z, x4.w};
#pragma unroll
                for (u32 r = 0; r < 4; r++)
#pragma unroll
                    for (u32 j = 0; j < 8; j++)
                        sum[i * 4 + r][j] = fma(x[r], y[j], sum[i * 4 + r][j]);
            }
        }
        now = 1 - now;
    }
#pragma unroll
    for (u32 i = 0; i < PARTS * 4; i++) {
        u32 out_row = block_y() * ROWS + row * 4 + i % 4 + i / 4 * 64;
        f32x4 *to = (f32x4 *)(c + (u64)out_row * n + block_x() * COLUMNS) + col;
        f32x4 left = {sum[i][0], sum[i][1], sum[i][2], sum[i][3]}, right = {sum[i][4], sum[i][5], sum[i][6], sum[i][7]};
        to[0] = left;
        to[16] = right;
    }
}
