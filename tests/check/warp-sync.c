// K6207: warp_sync in a branch that not all lanes take.
#include <kiln/kernel.h>

//! run order grid=1 block=32 (u32[32]:iota)
kernel void order(u32 *x)
{
    if (promise_warp_uniform(x[thread_x()]) < 8)
        warp_sync();
    x[thread_x()] = 1;
}
