// a third value for two elements
#include <kiln/kernel.h>

kernel void run(i32 *out)
{
    i32 a[2] = {1, 2, 3};
    out[0] = a[0];
}
