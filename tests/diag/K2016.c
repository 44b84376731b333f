// no operators on vectors
#include <kiln/kernel.h>

kernel void twice(f32x4 *x)
{
    f32x4 v = x[global_x()];
    x[global_x()] = v + v;
}
