// A kernel with a parameter that has no name: an error.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32)
{
    x[0] = 1;
}
