// The number of groups that may stay under way must be a constant.
#include <kiln/kernel.h>

kernel block(128) void f(u32 n)
{
    wgmma_wait(n);
    async_wait(n + 1);
}
