// The address of a kernel: a kernel is launched, never called.
#include <kiln/kernel.h>

kernel block(64) void other(f32 *x)
{
    x[0] = 1;
}

kernel block(64) void f(f32 *x)
{
    void (*p)(f32 *) = other;
    p(x);
}
