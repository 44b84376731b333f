// K6201: The bug is in a function that two kernels share.
#include <kiln/kernel.h>

//! run {up,down}_kernel grid=1 block=32 (f32[32])
f32 next(const f32 *x, i32 i)
{
    return x[i + 1];
}

kernel void up_kernel(f32 *x)
{
    f32 v = next(x, (i32)thread_x());
    barrier();
    x[thread_x()] = v;
}

kernel void down_kernel(f32 *x)
{
    f32 v = next(x, -(i32)thread_x() - 1);
    barrier();
    x[thread_x()] = v;
}
