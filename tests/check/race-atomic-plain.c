// K6204: Some threads count with an atomic, one resets without.
#include <kiln/kernel.h>

//! run reset grid=1 block=64 (u32[1])
kernel void reset(u32 *out)
{
    shared u32 n;
    if (thread_x() == 0)
        n = 0;
    atomic_add(&n, 1u);
    barrier();
    if (thread_x() == 0)
        out[0] = n;
}
