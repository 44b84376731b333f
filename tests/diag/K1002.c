// A forgotten semicolon: an error at the end of the first line with a fix-it that inserts it; the second line is fine.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1.0f
    x[1] = 2.0f;
}
