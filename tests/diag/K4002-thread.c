// The variables that each thread has share its 1 MiB.
#include <kiln/kernel.h>

#pragma kiln variables(thread)
static u8 small[1000], large[1 << 20];

kernel block(32) void f(u8 *x)
{
    small[x[1]] = 3;
    large[x[2]] = 4;
    x[0] = (u8)(small[7] + large[8]);
}
