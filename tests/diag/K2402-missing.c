// a return without its value
#include <kiln/kernel.h>

static i32 twice(i32 n)
{
    if (n < 0)
        return;
    return n * 2;
}

kernel void run(i32 n, i32 *out)
{
    out[0] = twice(n);
}
