// K6201: The guard lets the thread after the last through.
#include <kiln/kernel.h>

//! run scale grid=4 block=64 (f32[250], i32=250)
kernel void scale(f32 *x, i32 n)
{
    i32 i = (i32)global_x();
    if (i <= n)
        x[i] = x[i] * 2;
}
