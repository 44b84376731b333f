// K6204: A race in dynamic shared memory.
#include <kiln/kernel.h>

//! run turn grid=1 block=64 shared=256 (f32[64]:iota)
extern shared f32 work[];

kernel void turn(f32 *x)
{
    work[thread_x()] = x[thread_x()];
    x[thread_x()] = work[(thread_x() + 33) % 64];
}
