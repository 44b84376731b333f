// % on floats is an error that names fmod.
#include <kiln/kernel.h>

kernel void wrap(f32 *a)
{
    a[thread_x()] = a[thread_x()] % 2.0f;
}
