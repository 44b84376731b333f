// Rung 4 of the ladder: tensor cores. A warp multiplies 16 x 16 by 16 x 8 in one instruction, mma.
// Asynchronous copies fill a ring of three stages of shared memory while the warps multiply.
// Any m; n and k are multiples of 8. Runs on sm_80 and later, and on interp.
#include <kiln/tile.h>

enum { BM = 128, BN = 128, BK = 64, STAGES = 3 };
enum { ROWS = 64, COLUMNS = 32 }; // of a warp: eight warps, 2 x 4, share the 128 x 128 results

tile_type(operand, bf16, 128, BK, 128); // rows of 128 bytes, whose 16-byte chunks are permuted
typedef struct stage {
    operand a, b;
} stage;

_Alignas(1024) shared stage stages[];
enum { SHARED_BYTES = STAGES * sizeof(stage) };

// Starts the copies of 128 rows of an operand, four chunks a thread. Outside the matrix zeros are
// stored and nothing is read.
static void load_tile(operand *to, const bf16 *from, u32 first, u32 rows, u32 k0, u32 k)
{
    u32 chunk = thread_x() % 8, column = k0 + chunk * 8;
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        u32 row = thread_x() / 8 + i * 32;
        bool inside = first + row < rows && column < k;
        u64 at = inside ? (u64)(first + row) * k + column : 0;
        async_copy_16_part((bf16 *)tile_chunk(to, row, chunk), from + at, inside ? 16 : 0);
    }
}

typedef f32 sums[ROWS / 16][COLUMNS / 8][4];

// ldmatrix brings 16 x 16 numbers into the registers of a warp, as mma wants them.
static void multiply_stage(sums *acc, stage *s, u32 row, u32 column)
{
#pragma unroll
    for (u32 p = 0; p < BK; p += 16) {
        u32 a[ROWS / 16][4], b[COLUMNS / 16][4];
#pragma unroll
        for (u32 i = 0; i < ROWS / 16; i++)
            tile_get(a[i], &s->a, row + i * 16, p);
#pragma unroll
        for (u32 j = 0; j < COLUMNS / 16; j++)
            tile_get(b[j], &s->b, column + j * 16, p);
#pragma unroll
        for (u32 i = 0; i < ROWS / 16; i++)
#pragma unroll
            for (u32 j = 0; j < COLUMNS / 8; j++) {
                u32 words[2] = {b[j / 2][j % 2], b[j / 2][j % 2 + 2]};
                mma_bf16((*acc)[i][j], a[i], words);
            }
    }
}

// c: [m, n] = a: [m, k] times b: [n, k] transposed
kernel block(256) min_blocks(2) void matmul(const bf16 *a, const bf16 *b, bf16 *c, u32 m, u32 n, u32 k)
{
    u32 row0 = block_y() * BM, column0 = block_x() * BN, steps = (k + BK - 1) / BK;
    u32 row = warp() / 4 * ROWS, column = warp() % 4 * COLUMNS;
    sums acc = {0};
#pragma unroll
    for (u32 s = 0; s < STAGES - 1; s++) {
        load_tile(&stages[s].a, a, row0, m, s * BK, k);
        load_tile(&stages[s].b, b, column0, n, s * BK, k);
        async_commit();
    }
    for (u32 step = 0; step < steps; step++) {
        async_wait(STAGES - 2); // this thread's copies of the stage have come,
        barrier();              // everybody's have, and everybody is done with the stage before
        u32 ahead = step + STAGES - 1;
        load_tile(&stages[ahead % STAGES].a, a, row0, m, ahead * BK, k);
        load_tile(&stages[ahead % STAGES].b, b, column0, n, ahead * BK, k);
        async_commit();
        multiply_stage(&acc, &stages[step % STAGES], row, column);
    }
#pragma unroll
    for (u32 i = 0; i < ROWS / 16; i++)
#pragma unroll
        for (u32 j = 0; j < COLUMNS / 8; j++)
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                u32 y = row0 + row + i * 16 + lane() / 4 + h * 8;
                u32 x = column0 + column + j * 8 + lane() % 4 * 2;
                if (y < m && x < n)
                    *(u32 *)(c + (u64)y * n + x) = pack_bf16(acc[i][j][h * 2], acc[i][j][h * 2 + 1]);
            }
}
