// A shared array with the name of a parameter of the same kernel is a second declaration.
#include <kiln/kernel.h>

kernel void twice(f32 *a, f32 tile)
{
    shared f32 tile[32];
    tile[thread_x()] = a[thread_x()];
    barrier();
    a[thread_x()] = tile[31 - thread_x()];
}
