// K6207: Half of the warp is elsewhere when the others shuffle.
#include <kiln/kernel.h>

//! run swap grid=1 block=32 (u32[32]:iota)
kernel void swap(u32 *x)
{
    u32 v = x[thread_x()];
    if (promise_warp_uniform(v) < 16)
        v = shuffle_xor(v, 1u);
    x[thread_x()] = v;
}
