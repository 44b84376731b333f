// a value returned from a kernel
#include <kiln/kernel.h>

kernel void run(i32 n, i32 *out)
{
    if (n < 0)
        return 1;
    out[0] = n;
}
