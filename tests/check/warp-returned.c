// K6207: A shuffle reads lanes that have returned.
#include <kiln/kernel.h>

//! run gone grid=1 block=32 (u32[32]:iota)
kernel void gone(u32 *x)
{
    u32 v = x[thread_x()];
    if (promise_warp_uniform(v) >= 16)
        return;
    x[thread_x()] = shuffle_down(v, 8u);
}
