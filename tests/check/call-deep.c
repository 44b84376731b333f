// K6214: Recursion deeper than its limit, in the thread that goes furthest.
#include <kiln/kernel.h>

static recursion(10) u32 sum(u32 n)
{
    return n ? n + sum(n - 1) : 0;
}

//! run check block=32 (u32[64])
kernel void check(u32 *x)
{
    x[thread_x()] = sum(thread_x());
}
