// A label: an error with a fix-it that removes it.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    again:
    x[0] = 1;
}
