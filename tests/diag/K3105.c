// Recursion and what needs all threads: a barrier, a warp operation in a function that is called,
// a shared array.
#include <kiln/kernel.h>

static u32 total(u32 v)
{
    return warp_sum(v);
}
static u32 down(u32 n)
{
    return n ? down(n - 1) + total(n) : 0;
}
static void wait(u32 n)
{
    barrier();
    if (n)
        wait(n - 1);
}
static u32 stack(u32 n)
{
    shared u32 all[32];
    all[n & 31] = n;
    return n ? stack(n / 2) + all[0] : 0;
}

kernel block(64) void f(u32 *x)
{
    x[0] = down(x[0]) + stack(x[1]);
    wait(3);
}
