// a write through a pointer to const, with its declaration
#include <kiln/kernel.h>

kernel void clear(const f32 *x)
{
    x[global_x()] = 0;
}
