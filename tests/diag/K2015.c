// an f32 stored into an f16 needs to_f16
#include <kiln/kernel.h>

kernel void store(const f32 *x, f16 *y)
{
    y[global_x()] = x[global_x()] * 2;
}
