// K6203: A variable that only one branch sets.
#include <kiln/kernel.h>

//! run pick grid=1 block=32 (f32[32]:iota)
kernel void pick(f32 *x)
{
    f32 best;
    if (x[thread_x()] > 10)
        best = x[thread_x()];
    x[thread_x()] = best;
}
