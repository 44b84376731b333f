// K6226: the barrier is told of half of the bytes.
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
        mbarrier_arrive_expect(&full, 128);
        bulk_load(tile, x, 128, &full);
        bulk_load(tile + 32, x + 32, 128, &full);
    }
    mbarrier_wait(&full, 0);
    out[t] = tile[t];
}
