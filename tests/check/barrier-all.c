// flags: --all
// K6206: With --all the other blocks are checked, too.
#include <kiln/kernel.h>

//! run wait grid=3 block=64 (u32[192]:iota)
kernel void wait(u32 *x)
{
    if (promise_block_uniform(x[global_x()]) < 100)
        barrier();
    x[global_x()] = 1;
}
