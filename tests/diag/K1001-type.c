// A cast with a variable name in it: an error at the name.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = (f32 y)1;
}
