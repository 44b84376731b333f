// K6229: a block may end while another one still uses its shared memory.
#include <kiln/kernel.h>

//! run read grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void read(u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    tile[t] = global_x();
    cluster_arrive();
    cluster_wait();
    out[global_x()] = cluster_at(tile, cluster_rank() ^ 1)[t];
}

//! run signalled grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void signalled(u32 *out)
{
    shared mbarrier done;
    u32 t = thread_x();
    if (t == 0) {
        mbarrier_init(&done, 64);
        mbarrier_fence_init();
    }
    cluster_arrive();
    cluster_wait();
    out[global_x()] = t;
    mbarrier_arrive_at(&done, cluster_rank() ^ 1);
}

//! run sent grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void sent(u32 *out)
{
    _Alignas(16) shared u32 own[64], got[64];
    shared mbarrier full;
    u32 t = thread_x(), other = cluster_rank() ^ 1;
    own[t] = global_x();
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_fence_init();
        mbarrier_arrive_expect(&full, 256);
    }
    fence_async();
    barrier();
    cluster_arrive();
    cluster_wait();
    if (t == 0)
        bulk_send(got, own, 256, &full, other);
    mbarrier_wait(&full, 0);
    out[global_x()] = got[t];
}
