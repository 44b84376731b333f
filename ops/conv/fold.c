// Copies an operand of a convolution so that its channels start at multiples of 16 bytes (host_wide.c):
// from [outer, row, column, channel] with any steps to [outer, row, column, PAIRS rows of channels],
// dense, with zeros behind the channels and around the rows and columns. A thread has eight elements.
#include <kiln/pack.h>
KERNEL_OVERLAPS

tune(CHANNELS, 8, 4); // multiples of it are the channels of a place; 4: one of them
tune(PAIRS, 1, 2);    // rows of a place
#ifndef T
#    define T f16
#endif
PACK(T, 8)

typedef struct fold_shape {
    u32 rows, columns, eights;              // of the copy; 16 bytes of a place, of two where it is smaller
    u32 from_rows, from_columns, channels;  // of what is copied
    u32 above, before;                      // zeros
    u32 count;                              // threads
    i64 steps[4];                           // of what is copied
} fold_shape;

enum {
    THREADS = 256,
    PLACES = CHANNELS * PAIRS == 4 ? 2 : 1, // of a thread
    IN_ROW = CHANNELS == 8 ? PAIRS : 1      // eights of a place are shared out among its rows
};

kernel block(THREADS) void conv_fold(const T *restrict from, T *restrict to, fold_shape s)
{
    kernel_begin();
    u32 at = block_x() * THREADS + thread_x();
    if (at >= s.count)
        return;
    u32 place = at / s.eights, line = place / s.columns, outer = line / s.rows;
    u32 eight = at - place * s.eights, column = (place - line * s.columns) * PLACES;
    u32 row = (line - outer * s.rows) * PAIRS, own = s.eights / IN_ROW;
    u32 pair = eight / own, channel = (eight - pair * own) * 8;
    pack_number(T) out[8];
#pragma unroll
    for (u32 i = 0; i < 8; i++) {
        u32 group = CHANNELS == 4 ? i / 4 : 0, c = channel + i - group * 4;
        u32 y = row + (CHANNELS == 8 ? pair : PAIRS == 2 ? group : 0) - s.above; // before the first row it is huge
        u32 x = column + (PLACES == 2 ? group : 0) - s.before;
        out[i] = 0;
        if (c < s.channels && y < s.from_rows && x < s.from_columns)
            out[i] = pack_get(T, from[(i64)outer * s.steps[0] + y * s.steps[1] + x * s.steps[2] + c * s.steps[3]]);
    }
    pack_store(T, 8, to, at, out);
}
