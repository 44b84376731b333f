// K6205: thread_x() where global_x() is meant: all blocks write the same elements.
#include <kiln/kernel.h>

//! run square grid=4 block=32 (u32[128])
kernel void square(u32 *x)
{
    x[thread_x()] = global_x() * global_x();
}
