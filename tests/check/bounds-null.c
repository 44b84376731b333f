// K6212: A pointer that was never pointed anywhere.
#include <kiln/kernel.h>

//! run choose grid=1 block=32 (f32[32], i32=0)
kernel void choose(f32 *x, i32 which)
{
    f32 *p = 0;
    if (which == 1)
        p = x;
    p[thread_x()] = 1;
}
