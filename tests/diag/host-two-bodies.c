// Host code that no kernel reaches may be odd: a second body is skipped as a whole, and what follows is read.
#include <kiln/kernel.h>
static int helper(int a) { return a; }
static int helper(int a)
{
    return a + 1;
}
kernel block(64) void f(u32 *out)
{
    out[thread_x()] = 1;
}
