// an f16 used as an f32
#include <kiln/kernel.h>

kernel void load(const f16 *x, f32 *y)
{
    y[global_x()] = x[global_x()];
}
