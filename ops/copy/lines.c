// Copies of rows that are no whole packs, as those of an odd number of 16-bit elements: a warp has ROWS
// rows, and its lanes neighbouring elements. The place of a row is found once, not for every element.
#include <kiln/moved.h>
KERNEL_OVERLAPS

tune(RANK, 2, 3, 4, 5, 6, 7, 8); // with the loop along a row
enum { THREADS = 256, ROWS = 2, AHEAD = 4, LOOPS = RANK - 1 };

struct lines {
    u32 rows, length;
    u32 sizes[8]; // of the loops around the rows
    i64 in[8], out[8];
};

kernel block(THREADS) void copy_lines(const T *restrict from, T *restrict to, struct lines n)
{
    kernel_begin();
    u32 first = (block_x() * (THREADS / 32) + warp()) * ROWS;
    i64 in[ROWS], out[ROWS];
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) {
        u32 at = first + r;
        in[r] = out[r] = lane();
#pragma unroll
        for (u32 d = LOOPS; d-- > 0;) {
            u32 rest = d ? at / n.sizes[d] : 0, index = at - rest * n.sizes[d];
            in[r] += index * n.in[d];
            out[r] += index * n.out[d];
            at = rest;
        }
    }
    for (u32 column = 0; column < n.length; column += 32 * AHEAD) {
        T all[ROWS][AHEAD];
#pragma unroll
        for (u32 i = 0; i < ROWS * AHEAD; i++) {
            u32 r = i / AHEAD, at = column + i % AHEAD * 32;
            if (first + r < n.rows && at + lane() < n.length)
                all[r][i % AHEAD] = from[in[r] + at];
        }
#pragma unroll
        for (u32 i = 0; i < ROWS * AHEAD; i++) {
            u32 r = i / AHEAD, at = column + i % AHEAD * 32;
            if (first + r < n.rows && at + lane() < n.length)
                to[out[r] + at] = all[r][i % AHEAD];
        }
    }
}
