// a float stored into an integer needs a cast
#include <kiln/kernel.h>

kernel void bucket(const f32 *x, i32 *out)
{
    out[global_x()] = x[global_x()] * 10.0f;
}
