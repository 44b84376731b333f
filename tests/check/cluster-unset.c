// K6203: a block reads shared memory of another one that nobody has set.
#include <kiln/kernel.h>

//! run never grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void never(u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    cluster_arrive();
    cluster_wait();
    out[global_x()] = cluster_at(tile, cluster_rank() ^ 1)[t];
    cluster_arrive();
    cluster_wait();
}

//! run half grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void half(u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    if (t < 32)
        tile[t] = t;
    cluster_arrive();
    cluster_wait();
    out[global_x()] = cluster_at(tile, cluster_rank() ^ 1)[t];
    cluster_arrive();
    cluster_wait();
}
