// K6221: the copy engine does not see stores without a fence.
#include <kiln/kernel.h>

//! run f block=64 (u32[128])
kernel block(64) void f(u32 *out)
{
    _Alignas(128) shared u32 tile[64];
    u32 t = thread_x();
    tile[t] = t * t;
    barrier();
    if (t == 0) {
        bulk_store(out, tile, 256);
        bulk_commit();
        bulk_wait_read(0);
    }
    barrier();
    tile[t] = t;
    fence_async();
    barrier();
    if (t == 0) {
        bulk_store(out + 64, tile, 256);
        bulk_commit();
        bulk_wait(0);
    }
}
