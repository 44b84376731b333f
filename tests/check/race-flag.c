// K6204: Every thread writes its own number to one place.
#include <kiln/kernel.h>

//! run last grid=1 block=64 (u32[1])
kernel void last(u32 *out)
{
    shared u32 winner;
    winner = thread_x();
    barrier();
    if (thread_x() == 0)
        out[0] = winner;
}
