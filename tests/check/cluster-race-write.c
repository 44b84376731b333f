// K6205: a block stores to the other one's shared memory, which uses it without a barrier of the cluster.
#include <kiln/kernel.h>

//! run written grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void written(u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    cluster_arrive();
    cluster_wait();
    if (cluster_rank() == 0)
        cluster_at(tile, 1)[t] = 7;
    tile[t] = global_x();
    out[global_x()] = tile[t];
    cluster_arrive();
    cluster_wait();
}

//! run read grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void read(u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    tile[t] = global_x();
    cluster_arrive();
    cluster_wait();
    if (cluster_rank() == 0)
        cluster_at(tile, 1)[t] = 7;
    barrier();
    out[global_x()] = tile[t];
    cluster_arrive();
    cluster_wait();
}

//! run written_twice grid=3 block=64 (u32[192])
kernel block(64) cluster(3) void written_twice(u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    cluster_arrive();
    cluster_wait();
    if (cluster_rank())
        cluster_at(tile, 0)[t] = block_x();
    cluster_arrive();
    cluster_wait();
    if (block_x() == 0)
        out[t] = tile[t];
    cluster_arrive();
    cluster_wait();
}
