// K6201: A tile without room for its edge.
#include <kiln/kernel.h>

//! run stencil grid=1 block=64 (f32[64], f32[64])
kernel void stencil(f32 *out, const f32 *in)
{
    shared f32 tile[65];
    u32 t = thread_x();
    tile[t + 1] = in[t];
    if (t == 0)
        tile[0] = 0;
    if (t == 63)
        tile[t + 2] = 0;
    barrier();
    out[t] = tile[t] + tile[t + 1];
}
