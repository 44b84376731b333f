// a storage float cannot be cast
#include <kiln/kernel.h>

kernel void widen(const f16 *x, f32 *y)
{
    y[global_x()] = (f32)x[global_x()];
}
