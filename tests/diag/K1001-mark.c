// A mark behind the parameters.
#include <kiln/kernel.h>

kernel void f(f32 *x) block(64)
{
    x[thread_x()] = 1;
}
