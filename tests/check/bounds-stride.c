// K6201: A stride in bytes where elements are meant.
#include <kiln/kernel.h>

//! run gather grid=1 block=32 (f32[32], f32[64])
kernel void gather(f32 *out, const f32 *in)
{
    out[thread_x()] = in[thread_x() * sizeof(f32)];
}
