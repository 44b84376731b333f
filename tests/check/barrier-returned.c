// K6206: A thread returns before the barrier. In Kiln C that is told, after a promise that hides it from
// the compiler; where early returns are allowed it is not.
#include <kiln/kernel.h>

//! run refused grid=1 block=64 (u32[64])
kernel block(64) void refused(u32 *out)
{
    if (promise_block_uniform(thread_x() >= 40))
        return;
    barrier();
    out[thread_x()] = 1;
}

#pragma kiln early_return(allow)
//! run allowed grid=1 block=64 (u32[64])
kernel block(64) void allowed(u32 *out)
{
    if (thread_x() >= 40)
        return;
    barrier();
    out[thread_x()] = 1;
}
