// A variadic function that a kernel calls: an error at its name with the call labelled.
#include <kiln/kernel.h>

static f32 first(f32 a, ...)
{
    return a;
}

kernel block(64) void f(f32 *x)
{
    x[0] = first(x[1]);
}
