// Second launch of a pass: for each row and digit, the counts of the tiles become sums of those before; the whole is
// totals[row][digit].
#include <kiln/kernel.h>

enum { THREADS = 256, ITEMS = 4 };

kernel block(THREADS) void sort_digits(u32 *restrict counts, u32 *restrict totals, u32 tiles)
{
    u32 *mine = counts + (u64)block_x() * tiles;
    u32 carry = 0;
    for (u32 from = 0; from < tiles; from += THREADS * ITEMS) {
        u32 count[ITEMS], sum = 0;
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u32 at = from + thread_x() * ITEMS + i;
            count[i] = at < tiles ? mine[at] : 0;
            sum += count[i];
        }
        u32 before = carry + block_scan_sum_before(sum);
        carry += block_sum(sum);
#pragma unroll
        for (u32 i = 0; i < ITEMS; i++) {
            u32 at = from + thread_x() * ITEMS + i;
            if (at < tiles)
                mine[at] = before;
            before += count[i];
        }
    }
    if (thread_x() == 0)
        totals[block_x()] = carry;
}
