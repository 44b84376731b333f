// OpenCL's, Metal's and C++'s words before a type: one error each, then the declaration goes on.
#include <kiln/kernel.h>

kernel void f(__global f32 *x, global const f32 *y, device f32 *z, local f32 *t, u32 n)
{
    __local f32 tile[64];
    constexpr i32 k = 3;
    tile[thread_x()] = y[k];
    barrier();
    x[n] = tile[0] + z[0] + t[0];
}

kernel block(64) void names(f32 *x)
{
    f32 local = 1, global = 2, device = 3; // as names they are anybody's
    local += global * device;
    x[thread_x()] = local;
}
