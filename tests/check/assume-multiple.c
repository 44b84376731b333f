// K6208: The author promises a multiple of four.
#include <kiln/kernel.h>

//! run four grid=1 block=32 (f32[32], u32=30)
kernel void four(f32 *x, u32 n)
{
    assume(n % 4 == 0);
    if (thread_x() < n)
        x[thread_x()] = 1;
}
