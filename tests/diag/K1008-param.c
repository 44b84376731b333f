// A variable with the name of a parameter in the outermost block: an error with both places.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    u32 n = 1;
    x[0] = (f32)n;
}
