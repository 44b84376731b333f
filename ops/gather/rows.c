// Gathers of rows, one index each. A block has a part of a row, and the blocks of all rows for one
// part come before those of the next: a row that several indices name is read again while that part
// of it may still be in the cache.
#include <kiln/moved.h>

#ifndef INDEX
#    define INDEX i32
#endif
tune(THREADS, 256, 32, 64, 96, 128, 160, 192, 224);
KERNEL_OVERLAPS

struct gathered { // steps in packs; those of `row` from one row of out to the next
    u64 packs;
    i64 index_row, x_row, out_row;
    i64 size, stride; // of the axis of x
};

kernel block(THREADS) void gather_rows(const T *restrict from, const INDEX *restrict index, T *restrict to,
                                       struct gathered g)
{
    kernel_begin();
    i64 row = (i64)block_x(), at = (i64)block_y() * THREADS + (i64)thread_x();
    if (at >= (i64)g.packs)
        return;
    i64 i = (i64)index[row * g.index_row];
    i = i < 0 ? i + g.size : i;
    pack p = (pack){};
    if (i >= 0 && i < g.size)
        p = ((const pack *)from)[row * g.x_row + i * g.stride + at];
    ((pack *)to)[row * g.out_row + at] = p;
}
