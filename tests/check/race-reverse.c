// K6204: No barrier between filling and reading a tile.
#include <kiln/kernel.h>

//! run reverse grid=1 block=64 (f32[64]:iota)
kernel void reverse(f32 *x)
{
    shared f32 tile[64];
    u32 t = thread_x();
    tile[t] = x[t];
    x[t] = tile[63 - t];
}
