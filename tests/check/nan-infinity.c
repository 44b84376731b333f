// flags: --nan
// K6209: Infinity minus infinity in a softmax.
#include <kiln/kernel.h>

//! run soft grid=1 block=32 (f32[32]:iota)
kernel void soft(f32 *x)
{
    f32 v = thread_x() == 7 ? 1.0f / 0.0f : x[thread_x()];
    f32 top = warp_max(v);
    x[thread_x()] = exp(v - top);
}
