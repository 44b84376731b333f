// Quotes between digits: an error with a fix-it that joins them.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    u32 i = 1'000'000;
    x[i] = 1;
}
