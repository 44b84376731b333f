// K6204: the copy is waited for, but only one thread knows.
#include <kiln/kernel.h>

//! run f block=64 (u32[64], u32[64])
kernel block(64) void f(u32 *x, u32 *out)
{
    _Alignas(128) shared u32 tile[64];
    u32 t = thread_x();
    tile[t] = (u32)t;
    fence_async();
    barrier();
    if (t == 0) {
        bulk_store(x, tile, 256);
        bulk_commit();
        bulk_wait(0);
    }
    out[t] = x[63 - t];
}
