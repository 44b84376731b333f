// K6207: A vote without all voters.
#include <kiln/kernel.h>

//! run vote grid=1 block=32 (u32[32]:iota)
kernel void vote(u32 *x)
{
    u32 v = x[thread_x()];
    if (promise_warp_uniform(v) > 3)
        x[thread_x()] = warp_ballot(v > 5);
}
