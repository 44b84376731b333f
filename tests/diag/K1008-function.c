// A function with two bodies: an error with both places.
#include <kiln/kernel.h>

static f32 g(f32 v)
{
    return v;
}

static f32 g(f32 v)
{
    return v + 1;
}

kernel void f(f32 *x)
{
    x[0] = g(x[0]);
}
