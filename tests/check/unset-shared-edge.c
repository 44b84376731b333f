// K6203: The edge of the tile is never filled.
#include <kiln/kernel.h>

//! run blur3 grid=2 block=64 (f32[128], f32[128]:iota)
kernel void blur3(f32 *out, const f32 *in)
{
    shared f32 tile[66];
    u32 t = thread_x(), i = global_x();
    tile[t + 1] = in[i];
    barrier();
    out[i] = (tile[t] + tile[t + 1] + tile[t + 2]) / 3;
}
