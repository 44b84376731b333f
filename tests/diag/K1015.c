// A pointer to a function in a kernel: an error that says why there is none.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    f32 (*op)(f32) = 0;
    x[0] = 1;
}
