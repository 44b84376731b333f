// Constants on both sides of what a bit-field holds; a float is told as such alone.
#include <kiln/kernel.h>

struct bits {
    u32 low : 3;
    i32 high : 4;
    u32 one : 1;
    u64 wide : 40;
};

kernel block(32) void k(u32 *x)
{
    struct bits b;
    b.low = 0;
    b.low = 7;
    b.low = 8;
    b.low = -1;
    b.high = 7;
    b.high = 8;
    b.high = -8;
    b.high = -9;
    b.one = 1;
    b.one = 2;
    b.low = 5.5f;
    b.wide = 1ull << 40;
    b.wide = (1ull << 40) - 1;
    b.low = thread_x();
    x[thread_x()] = b.low + b.one + (u32)b.wide + (u32)b.high;
}
