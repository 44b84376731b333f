// K6229: a block may not have begun when another one uses its shared memory.
#include <kiln/kernel.h>

//! run f grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void f(u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    cluster_at(tile, cluster_rank() ^ 1)[t] = global_x();
    cluster_arrive();
    cluster_wait();
    out[global_x()] = tile[t];
}
