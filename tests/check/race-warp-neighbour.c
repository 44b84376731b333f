// K6204: Neighbours in one warp, without warp_sync.
#include <kiln/kernel.h>

//! run rotate grid=1 block=32 (f32[32]:iota)
kernel void rotate(f32 *x)
{
    shared f32 tile[32];
    u32 t = thread_x();
    tile[t] = x[t];
    x[t] = tile[(t + 1) % 32];
}
