// K6203: The second block expects what the first left behind.
#include <kiln/kernel.h>

//! run carry grid=2 block=32 (u32[64])
kernel void carry(u32 *out)
{
    shared u32 total[32];
    if (block_x() == 0)
        total[thread_x()] = 0;
    total[thread_x()] += 1;
    out[global_x()] = total[thread_x()];
}
