// K6205: a block reads what the other one of its cluster stores, without a barrier of the cluster.
#include <kiln/kernel.h>

//! run stored_before grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void stored_before(u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    tile[t] = global_x();
    barrier();
    out[global_x()] = cluster_at(tile, cluster_rank() ^ 1)[t];
    cluster_arrive();
    cluster_wait();
}

//! run stored_after grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void stored_after(u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    tile[t] = global_x();
    cluster_arrive();
    cluster_wait();
    out[global_x()] = cluster_at(tile, cluster_rank() ^ 1)[t];
    barrier();
    tile[t] = 0;
    cluster_arrive();
    cluster_wait();
}
