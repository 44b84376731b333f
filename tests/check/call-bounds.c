// K6201: An access outside its array in a recursive function, with the calls that led there.
#include <kiln/kernel.h>

static void mark(u32 *x, u32 at, u32 n)
{
    x[at] = 1;
    if (n)
        mark(x, 2 * at, n - 1);
}

//! run check block=4 (u32[64])
kernel void check(u32 *x)
{
    mark(x, thread_x() + 1, 4);
}
