// Blocks enough for many threads of the host: the checker looks at them one by one.
#include <kiln/kernel.h>

//! run many grid=300 block=64 (u32[64]:iota, u32[300], u32[1])
kernel void many(const u32 *in, u32 *out, u32 *total)
{
    shared u32 tile[64];
    tile[thread_x()] = in[thread_x()] + block_x();
    barrier();
    u32 sum = 0;
    for (u32 k = 0; k < 64; k++)
        sum += tile[k];
    if (thread_x() == 0) {
        out[block_x()] = sum;
        atomic_add(total, sum);
    }
}
