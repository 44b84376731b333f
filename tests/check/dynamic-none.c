// K6210: The launch forgets the dynamic shared memory.
#include <kiln/kernel.h>

//! run shift grid=1 block=32 (f32[32])
extern shared f32 buffer[];

kernel void shift(f32 *x)
{
    buffer[thread_x()] = x[thread_x()];
    barrier();
    x[thread_x()] = buffer[(thread_x() + 1) % 32];
}
