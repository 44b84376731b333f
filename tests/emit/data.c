// A struct by value, a constant table, a local array with a dynamic index, integer division by a variable.
#include <kiln/kernel.h>

struct scale {
    f32 by;
    i32 table[4];
    i64 shift;
};
static const u8 order[8] = {7, 3, 5, 1, 0, 2, 4, 6};

kernel block(32) void data(struct scale s, f32 *out, i32 divisor)
{
    i32 own[16];
    u32 t = thread_x();
    for (u32 i = 0; i < 16; i++)
        own[i] = (i32)(i * t);
    i32 v = own[t % 16] / divisor + s.table[t & 3] + order[t & 7];
    out[t] = s.by * (f32)v + (f32)(s.shift >> (t & 63));
}
