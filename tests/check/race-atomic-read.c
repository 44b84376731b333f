// K6204: A counter is read while others still count.
#include <kiln/kernel.h>

//! run peek grid=1 block=64 (u32[64])
kernel void peek(u32 *out)
{
    shared u32 n;
    if (thread_x() == 0)
        n = 0;
    barrier();
    atomic_add(&n, 1u);
    out[thread_x()] = n;
}
