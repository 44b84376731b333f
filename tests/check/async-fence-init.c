// K6221: the copy engine does not see a barrier that was initialised without a fence.
#include <kiln/kernel.h>

//! run f block=64 (u32[64], u32[64])
kernel block(64) void f(const u32 *in, u32 *out)
{
    _Alignas(128) shared u32 tile[64];
    shared mbarrier full;
    u32 t = thread_x();
    if (t == 0)
        mbarrier_init(&full, 1);
    barrier();
    if (t == 0) {
        mbarrier_arrive_expect(&full, 256);
        bulk_load(tile, in, 256, &full);
    }
    mbarrier_wait(&full, 0);
    out[t] = tile[t];
}
