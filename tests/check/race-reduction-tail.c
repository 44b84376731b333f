// K6204: The last warp goes on without warp_sync.
#include <kiln/kernel.h>

//! run sum grid=1 block=64 (f32[1], f32[64]:iota)
kernel void sum(f32 *out, const f32 *x)
{
    shared f32 tile[64];
    u32 t = thread_x();
    tile[t] = x[t];
    barrier();
    if (t < 32)
        for (u32 step = 32; step > 0; step /= 2)
            if (t < step)
                tile[t] += tile[t + step];
    if (t == 0)
        out[0] = tile[0];
}
