// K6222: a block reads what a copy still brings to the other one.
#include <kiln/kernel.h>

//! run f grid=2 block=64 (u32[128]:iota, u32[128])
kernel block(64) cluster(2) void f(const u32 *x, u32 *out)
{
    _Alignas(128) shared u32 tile[64];
    shared mbarrier full;
    u32 t = thread_x();
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_fence_init();
        mbarrier_arrive_expect(&full, 256);
        bulk_load(tile, x + block_x() * 64, 256, &full);
    }
    cluster_arrive();
    cluster_wait();
    out[global_x()] = cluster_at(tile, cluster_rank() ^ 1)[t];
    barrier();
    mbarrier_wait(&full, 0);
    cluster_arrive();
    cluster_wait();
}
