// K6222: async_copy without async_wait.
#include <kiln/kernel.h>

//! run f block=64 (u32[64]:iota, u32[64])
kernel block(64) void f(const u32 *x, u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    async_copy_4(&tile[t], x + t);
    async_commit();
    barrier();
    out[t] = tile[63 - t];
}
