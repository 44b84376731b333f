// K6204: A histogram in shared memory without atomics.
#include <kiln/kernel.h>

//! run count grid=1 block=64 (u32[16], u32[64]:mod16)
kernel void count(u32 *out, const u32 *x)
{
    shared u32 bins[16];
    u32 t = thread_x();
    if (t < 16)
        bins[t] = 0;
    barrier();
    bins[x[t]] += 1;
    barrier();
    if (t < 16)
        out[t] = bins[t];
}
