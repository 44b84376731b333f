// a double literal makes the product f64; the fix adds an f
#include <kiln/kernel.h>

kernel void decay(f32 *x)
{
    x[global_x()] = x[global_x()] * 0.1;
}
