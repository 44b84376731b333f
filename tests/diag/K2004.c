// an i32 multiplied with an f32 needs a cast
#include <kiln/kernel.h>

kernel void ramp(f32 *out, i32 step)
{
    out[global_x()] = step * 0.5f;
}
