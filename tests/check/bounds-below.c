// K6201: A neighbour below the first element.
#include <kiln/kernel.h>

//! run blur grid=1 block=64 (f32[64], f32[64])
kernel void blur(f32 *out, const f32 *in)
{
    i32 i = (i32)thread_x();
    out[i] = (in[i - 1] + in[i]) / 2;
}
