// CUDA's words without <kiln/cuda.h>, in a kernel and before one.
#include <kiln/kernel.h>

__launch_bounds__(64) kernel void before(f32 *x)
{
    x[thread_x()] = 1;
}

kernel block(64) void inside(f32 *x)
{
    __shared__ f32 tile[64];
    tile[thread_x()] = x[thread_x()];
    barrier();
    x[thread_x()] = tile[63 - thread_x()];
}
