// K6205: One block clears a counter that the others already use.
#include <kiln/kernel.h>

//! run clear grid=4 block=32 (u32[1])
kernel void clear(u32 *n)
{
    if (global_x() == 0)
        n[0] = 0;
    barrier();
    atomic_add(n, 1u);
}
