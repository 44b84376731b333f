// flags: --all
// K6221: the copy engine does not see stores to global memory without fence_async_all.
#include <kiln/kernel.h>

//! run none block=64 (u32[64], u32[64])
kernel block(64) void none(u32 *x, u32 *out)
{
    _Alignas(128) shared u32 tile[64];
    shared mbarrier full;
    u32 t = thread_x();
    x[t] = t * t;
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_fence_init();
    }
    barrier();
    if (t == 0) {
        mbarrier_arrive_expect(&full, 256);
        bulk_load(tile, x, 256, &full);
    }
    mbarrier_wait(&full, 0);
    out[t] = tile[t];
}

//! run shared_only block=64 (u32[64], u32[64])
kernel block(64) void shared_only(u32 *x, u32 *out)
{
    _Alignas(128) shared u32 tile[64];
    shared mbarrier full;
    u32 t = thread_x();
    x[t] = t * t;
    fence_async();
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_fence_init();
    }
    barrier();
    if (t == 0) {
        mbarrier_arrive_expect(&full, 256);
        bulk_load(tile, x, 256, &full);
    }
    mbarrier_wait(&full, 0);
    out[t] = tile[t];
}
