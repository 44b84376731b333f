// K6206: Some warps return before a barrier.
#include <kiln/kernel.h>

//! run leave grid=1 block=64 (u32[64]:iota)
kernel void leave(u32 *x)
{
    if (promise_block_uniform(x[thread_x()]) >= 32)
        return;
    barrier();
    x[thread_x()] = 1;
}
