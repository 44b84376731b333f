// K6201: The last vector reaches over the end.
#include <kiln/kernel.h>

//! run copy grid=1 block=32 (f32[126], f32x4[32])
kernel void copy(f32 *out, const f32x4 *in)
{
    u32 i = thread_x();
    f32x4 v = in[i];
    out[4 * i] = v.x;
    out[4 * i + 1] = v.y;
    out[4 * i + 2] = v.z;
    out[4 * i + 3] = v.w;
}
