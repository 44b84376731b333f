// flags: --target opencl
// Recursion on a device that has no stack: refused by name, for every function of the circle.
#include <kiln/kernel.h>

static f32 down(f32 v);

static f32 up(f32 v)
{
    return down(v + 1);
}

static f32 down(f32 v)
{
    return v > 10 ? v : up(v);
}

kernel block(64) void f(f32 *x)
{
    x[0] = up(x[0]);
}
