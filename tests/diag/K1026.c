// A function defined inside a kernel: an error at its name.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    f32 twice(f32 v) { return v + v; }
    x[0] = 1;
}
