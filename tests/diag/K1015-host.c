// A pointer to a function in host code says nothing about the types of its parameters.
#include <kiln/kernel.h>

static f32 (*table[2])(f32);
static f32 apply(f32 (*op)(f32), f32 x)
{
    return op(x);
}

kernel block(64) void f(f32 *x, u32 n)
{
    f32 y = (f32)n;
    x[0] = y;
    x[1] = apply(0, y);
}
