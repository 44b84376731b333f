// element 8 of 8
#include <kiln/kernel.h>

kernel void run(f32 *out)
{
    f32 a[8] = {0};
    a[8] = 1;
    out[0] = a[0];
}
