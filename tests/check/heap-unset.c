// K6203: malloc does not set its memory, and a block that is used again is as new.
#include <stdlib.h>

#include <kiln/kernel.h>

//! run sums grid=1 block=32 (u32[32])
kernel void sums(u32 *out)
{
    u32 *p = malloc(16), total = 0;
    if (!p)
        return;
    for (u32 k = 0; k < 3; k++)
        p[k] = k;
    for (u32 k = 0; k < 4; k++)
        total += p[k];
    out[thread_x()] = total;
    free(p);
}
