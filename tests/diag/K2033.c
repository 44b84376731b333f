// a kernel calls a kernel
#include <kiln/kernel.h>

kernel void clear(f32 *x)
{
    x[global_x()] = 0;
}

kernel void run(f32 *x)
{
    clear(x);
}
