// K6205: Blocks overlap by one element.
#include <kiln/kernel.h>

//! run fill grid=4 block=32 (u32[129])
kernel void fill(u32 *x)
{
    x[global_x()] = block_x();
    if (thread_x() == 31)
        x[global_x() + 1] = block_x();
}
