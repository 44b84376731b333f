// K6204: A scan that reads and writes one array in the same step.
#include <kiln/kernel.h>

//! run scan grid=1 block=64 (u32[64]:iota)
kernel void scan(u32 *x)
{
    shared u32 s[64];
    u32 t = thread_x();
    s[t] = x[t];
    barrier();
    for (u32 d = 1; d < 64; d *= 2) {
        if (t >= d)
            s[t] += s[t - d];
        barrier();
    }
    x[t] = s[t];
}
