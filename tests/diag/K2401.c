// a path without return
#include <kiln/kernel.h>

static i32 sign(i32 x)
{
    if (x > 0)
        return 1;
    if (x < 0)
        return -1;
}

kernel void run(i32 *x)
{
    x[0] = sign(x[0]);
}
