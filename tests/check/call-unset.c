// K6203: A variable of a call that is read before it is set, though the call before it set the same
// bytes of the stack.
#include <kiln/kernel.h>

static u32 last(u32 n)
{
    u32 own[300];
    if (n & 1)
        own[n] = n;
    return n ? own[n] + last(n - 1) : 0;
}

//! run check block=4 (u32[64])
kernel void check(u32 *x)
{
    x[thread_x()] = last(3);
}
