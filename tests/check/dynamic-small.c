// K6210: The launch gives less dynamic shared memory than the kernel uses.
#include <kiln/kernel.h>

//! run reverse grid=1 block=64 shared=128 (f32[64])
extern shared f32 buffer[];

kernel void reverse(f32 *x)
{
    u32 t = thread_x();
    buffer[t] = x[t];
    barrier();
    x[t] = buffer[63 - t];
}
