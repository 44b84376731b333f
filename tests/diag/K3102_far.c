// Which multiple of 32 is added to the thread's number is seen through sums of four parts, and not further.
#include <kiln/kernel.h>

kernel block(128) void near(u32 *x, u32 a, u32 b, u32 c, u32 d)
{
    u32 row = (thread_x() + (a * 32 + (b * 32 + (c * 32 + d * 32)))) / 32;
    if (row == 7)
        x[row] = warp_sum(thread_x());
}

kernel block(128) void far(u32 *x, u32 a, u32 b, u32 c, u32 d, u32 e)
{
    u32 row = (thread_x() + (a * 32 + (b * 32 + (c * 32 + (d * 32 + e * 32))))) / 32;
    if (row == 7)
        x[row] = warp_sum(thread_x());
}
