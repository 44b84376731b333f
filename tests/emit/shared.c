// Shared arrays: as much static memory as every target takes; arrays of other kernels do not count; and where a dynamic array is
// aligned, each kernel's static ones are one array.
#include <kiln/kernel.h>

shared f32 most[12288], half[7500];
_Alignas(128) dynamic_shared(f32, open);

kernel block(64) void whole(f32 *x)
{
    most[thread_x()] = x[0];
    barrier();
    x[1] = most[63 - thread_x()];
}

kernel block(64) void behind(f32 *x)
{
    half[thread_x()] = x[0];
    open[thread_x()] = x[1];
    barrier();
    x[2] = half[63 - thread_x()] + open[63 - thread_x()];
}
