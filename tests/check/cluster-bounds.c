// K6201: outside an array of another block, and a block that there is not.
#include <kiln/kernel.h>

//! run f grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void f(u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    tile[t] = global_x();
    cluster_arrive();
    cluster_wait();
    out[global_x()] = cluster_at(tile, cluster_rank() ^ 1)[t + 1];
    cluster_arrive();
    cluster_wait();
}

//! run none grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void none(u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    tile[t] = global_x();
    cluster_arrive();
    cluster_wait();
    out[global_x()] = cluster_at(tile, 2)[t];
    cluster_arrive();
    cluster_wait();
}
