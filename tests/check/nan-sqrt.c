// flags: --nan
// K6209: The square root of a difference that is negative.
#include <kiln/kernel.h>

//! run root grid=1 block=32 (f32[32]:iota)
kernel void root(f32 *x)
{
    x[thread_x()] = sqrt(x[thread_x()] - 5);
}
