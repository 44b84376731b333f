// a vector does not become a number
#include <kiln/kernel.h>

kernel void first(const f32x4 *x, f32 *y)
{
    y[global_x()] = x[global_x()];
}
