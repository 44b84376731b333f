// An array whose inner length is missing: an error.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    f32 a[4][];
    x[0] = 1;
}
