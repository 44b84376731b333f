// K6214: The kernel gives up by itself.
#include <kiln/kernel.h>

//! run give grid=1 block=32 (u32[32]:iota)
kernel void give(u32 *x)
{
    if (x[thread_x()] == 9)
        trap();
    x[thread_x()] = 0;
}
