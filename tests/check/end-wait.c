// flags: --steps=100000
// K6211: A block waits for one that has not started.
#include <kiln/kernel.h>

//! run wait grid=2 block=32 (u32[1])
kernel void wait(u32 *x)
{
    if (block_x() == 1)
        atomic_store(x, 1u);
    else
        while (atomic_load(x) == 0)
            ;
}
