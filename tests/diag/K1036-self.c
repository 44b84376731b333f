// A function that calls itself: an error at the call.
#include <kiln/kernel.h>

static u32 fact(u32 n)
{
    return n ? n * fact(n - 1) : 1;
}

kernel void f(u32 *x)
{
    x[0] = fact(x[0]);
}
