// an array is not assigned as a whole
#include <kiln/kernel.h>

kernel void copy(f32 *out)
{
    f32 a[4] = {1, 2, 3, 4}, b[4] = {0};
    b = a;
    out[0] = b[0];
}
