// Copies a matrix [K, few] of 16-bit numbers to [few, K], for gemm_sm90.c: its copy engine takes
// several times as long for rows that are shorter than a line of memory. A block turns 32 rows,
// through shared memory; rows of the copy begin at multiples of 4 bytes, and have room for a number
// behind an odd K.
#include <kiln/kernel.h>

enum { THREADS = 256, ROWS = 32, COLUMNS = 64, EACH = ROWS * COLUMNS / THREADS };

shared u16 tile[ROWS][COLUMNS + 2];

kernel block(THREADS) void gemm_turn(const u16 *from, u16 *to, u64 from_pitch, u64 to_pitch, u32 k,
                                     u32 few)
{
    u32 first = block_x() * ROWS;
    u16 got[EACH];
    next_kernel_launch();
    previous_kernel_wait();
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 n = i * THREADS + thread_x(), row = first + n / COLUMNS, column = n % COLUMNS;
        got[i] = 0;
        if (row < k && column < few)
            got[i] = from[row * from_pitch + column];
    }
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 n = i * THREADS + thread_x();
        tile[n / COLUMNS][n % COLUMNS] = got[i];
    }
    barrier();
#pragma unroll
    for (u32 i = 0; i < EACH / 2; i++) {
        u32 n = i * THREADS + thread_x(), row = n % (ROWS / 2) * 2, column = n / (ROWS / 2);
        if (first + row < k && column < few)
            *(u32 *)(to + (column * to_pitch + first + row)) =
                (u32)tile[row][column] | (u32)tile[row + 1][column] << 16;
    }
}
