// A break in no loop: an error.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    if (n == 0)
        break;
    x[0] = 1;
}
