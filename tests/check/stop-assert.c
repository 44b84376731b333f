// K6214: A failed assertion, with the thread that failed it.
#include <kiln/kernel.h>

//! run check grid=2 block=32 (u32[64]:iota)
kernel void check(u32 *x)
{
    assert(x[global_x()] < 50);
    x[global_x()] = 0;
}
