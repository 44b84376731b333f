// the result of an addition cannot be assigned to
#include <kiln/kernel.h>

kernel void swap(i32 a, i32 b, i32 *out)
{
    a + b = 3;
    out[0] = a;
}
