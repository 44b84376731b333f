// the remainder of floats is fmod
#include <kiln/kernel.h>

kernel void wrap(f32 *x)
{
    x[global_x()] = x[global_x()] % 6.0f;
}
