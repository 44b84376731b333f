// K6203: Half of the threads load a tile that all use.
#include <kiln/kernel.h>

//! run tile grid=1 block=32 (f32[64], f32[64]:iota)
kernel void tile(f32 *out, const f32 *in)
{
    shared f32 t[64];
    t[thread_x()] = in[thread_x()];
    barrier();
    for (u32 i = thread_x(); i < 64; i += 32)
        out[i] = t[63 - i];
}
