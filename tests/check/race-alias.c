// K6204: Two pointers to the same array.
#include <kiln/kernel.h>

//! run shift grid=1 block=64 (f32[64]:iota)
kernel void shift(f32 *x)
{
    shared f32 a[64];
    f32 *here = a + thread_x(), *there = a + (thread_x() + 32) % 64;
    *here = x[thread_x()];
    x[thread_x()] = *there;
}
