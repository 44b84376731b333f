// flags: --nan
// K6209: 0 / 0 in a normalisation.
#include <kiln/kernel.h>

//! run norm grid=1 block=32 (f32[32])
kernel void norm(f32 *x)
{
    f32 sum = warp_sum(x[thread_x()]);
    x[thread_x()] = x[thread_x()] / sum;
}
