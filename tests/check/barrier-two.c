// K6206: Two warps wait at two different barriers.
#include <kiln/kernel.h>

//! run split grid=1 block=64 (u32[64]:iota)
kernel void split(u32 *x)
{
    u32 v = promise_block_uniform(x[thread_x()] / 32);
    if (v == 0) {
        barrier();
        x[thread_x()] = 1;
    } else {
        x[thread_x()] = 2;
        barrier();
    }
}
