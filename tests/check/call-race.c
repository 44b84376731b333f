// K6204: Two threads of different depth store to one element.
#include <kiln/kernel.h>

static void spread(u32 *x, u32 at)
{
    x[at] = thread_x();
    if (at > 1)
        spread(x, at / 2);
}

//! run check block=4 (u32[64])
kernel void check(u32 *x)
{
    spread(x, thread_x() + 4);
}
