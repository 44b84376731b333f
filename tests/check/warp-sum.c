// K6207: warp_sum in a loop that lanes leave one by one.
#include <kiln/kernel.h>

//! run rows grid=1 block=32 (u32[32]:iota)
kernel void rows(u32 *x)
{
    u32 n = promise_warp_uniform(x[thread_x()] % 3), sum = 0;
    for (u32 i = 0; i <= n; i++)
        sum += warp_sum(i);
    x[thread_x()] = sum;
}
