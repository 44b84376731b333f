// K6214: A call through a pointer that is no function, of another type, and null.
#include <kiln/kernel.h>

typedef u32 (*unary)(u32);
static u32 twice(u32 x)
{
    return x * 2;
}
static i64 wide(i64 x)
{
    return x;
}

//! run check block=2 (u32[64])
kernel void check(u32 *x)
{
    unary f = thread_x() ? (unary)wide : twice;
    x[thread_x()] = f(3);
}

//! run null block=2 (u32[64])
kernel void null(u32 *x)
{
    unary f = NULL;
    x[0] = twice(1);
    if (x[1] == 0 && thread_x() == 1)
        x[1] = f(3);
}
