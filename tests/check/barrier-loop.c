// K6206: Threads go round a loop with a barrier a different number of times.
#include <kiln/kernel.h>

//! run round grid=1 block=64 (u32[64]:iota)
kernel void round(u32 *x)
{
    u32 times = promise_block_uniform(x[thread_x()] / 16);
    for (u32 i = 0; i <= times; i++)
        barrier();
    x[thread_x()] = 1;
}
