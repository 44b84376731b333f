// K6206: A promise that all threads agree, and they do not.
#include <kiln/kernel.h>

//! run wait grid=1 block=64 (u32[64]:iota)
kernel void wait(u32 *x)
{
    if (promise_block_uniform(x[thread_x()]) < 40)
        barrier();
    x[thread_x()] = 1;
}
