// flags: --unset=1
// K6203: An input that the host never wrote.
#include <kiln/kernel.h>

//! run copy grid=1 block=32 (f32[32], f32[32])
kernel void copy(f32 *out, const f32 *in)
{
    out[thread_x()] = in[thread_x()];
}
