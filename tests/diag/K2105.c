// an array initialised with a number
#include <kiln/kernel.h>

kernel void run(i32 *out)
{
    i32 a[4] = 0;
    out[0] = a[0];
}
