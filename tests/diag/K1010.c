// A function defined below the kernel that calls it: an error with the use and the declaration labelled.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x)
{
    x[thread_x()] = half_of(x[thread_x()]);
}

static f32 half_of(f32 v)
{
    return v * 0.5f;
}
