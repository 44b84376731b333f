// K6227: a copy that nobody waits for.
#include <kiln/kernel.h>

//! run f block=64 (u32[64]:iota, u32[64])
kernel block(64) void f(const u32 *x, u32 *out)
{
    _Alignas(128) shared u32 tile[64];
    shared mbarrier full;
    u32 t = thread_x();
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_fence_init();
    }
    barrier();
    if (t == 0) {
        mbarrier_arrive_expect(&full, 256);
        bulk_load(tile, x, 256, &full);
    }
    out[t] = x[t];
}
