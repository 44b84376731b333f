// K6205: A histogram in global memory without atomics.
#include <kiln/kernel.h>

//! run count grid=4 block=1 (u32[16], u32[4])
kernel void count(u32 *bins, const u32 *x)
{
    bins[x[block_x()]] += 1;
}
