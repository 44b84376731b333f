// K6202: A vector load from an odd element.
#include <kiln/kernel.h>

//! run load grid=1 block=8 (f32[64], f32[64])
kernel void load(f32 *out, const f32 *in)
{
    f32x4 v = *(const f32x4 *)(in + 4 * thread_x() + 1);
    out[thread_x()] = v.x + v.y + v.z + v.w;
}
