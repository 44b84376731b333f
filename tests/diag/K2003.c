// two pointers cannot be added
#include <kiln/kernel.h>

kernel void sum(f32 *a, f32 *b)
{
    f32 *c = a + b;
    c[0] = 1;
}
