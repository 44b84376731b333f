// K6204: The second barrier of a tile loop is missing: a fast warp refills what a slow one still reads.
#include <kiln/kernel.h>

//! run walk grid=1 block=64 (f32[64], f32[256]:iota)
kernel void walk(f32 *out, const f32 *x)
{
    shared f32 tile[64];
    f32 sum = 0;
    u32 t = thread_x();
    for (u32 i = 0; i < 256; i += 64) {
        tile[t] = x[i + t];
        barrier();
        for (u32 j = 0; j < 64; j++)
            sum += tile[j] * (f32)(t + 1);
    }
    out[t] = sum;
}
