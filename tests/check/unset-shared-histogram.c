// K6203: The bins in shared memory are not cleared.
#include <kiln/kernel.h>

//! run count grid=1 block=64 (u32[16], u32[64]:mod16)
kernel void count(u32 *out, const u32 *x)
{
    shared u32 bins[16];
    atomic_add(&bins[x[thread_x()]], 1u);
    barrier();
    if (thread_x() < 16)
        out[thread_x()] = bins[thread_x()];
}
