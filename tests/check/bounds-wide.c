// K6201: A vector that begins inside its buffer and ends outside.
#include <kiln/kernel.h>

//! run wide grid=1 block=32 (f32x4[32], f32[126])
kernel void wide(f32x4 *out, const f32 *in)
{
    out[thread_x()] = *(const f32x4 *)(in + 4 * thread_x());
}
