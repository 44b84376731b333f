// K6204: A reduction with the barrier at the wrong end of the loop.
#include <kiln/kernel.h>

//! run sum grid=2 block=128 (f32[2], f32[256]:iota)
kernel void sum(f32 *out, const f32 *x)
{
    shared f32 tile[128];
    u32 t = thread_x();
    tile[t] = x[global_x()];
    for (u32 step = 64; step > 0; step /= 2) {
        if (t < step)
            tile[t] += tile[t + step];
        barrier();
    }
    if (t == 0)
        out[block_x()] = tile[0];
}
