// OpenCL's word for a kernel.
#include <kiln/kernel.h>

__kernel void f(f32 *x)
{
    x[global_x()] = 1;
}
