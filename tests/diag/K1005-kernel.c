// A misspelt kernel: an error with the right word as a fix-it, not host code that is skipped.
#include <kiln/kernel.h>

kernal block(64) void f(f32 *x)
{
    x[0] = 1;
}

kernel void g(f32 *x)
{
    x[0] = 2;
}
