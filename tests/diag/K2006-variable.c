// an f64 variable needs a cast
#include <kiln/kernel.h>

kernel void narrow(const f64 *x, f32 *y)
{
    y[global_x()] = x[global_x()];
}
