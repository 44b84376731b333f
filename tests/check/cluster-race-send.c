// K6205: a block sends again before the other one has read what came.
#include <kiln/kernel.h>

//! run f grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void f(u32 *out)
{
    _Alignas(16) shared u32 own[64], got[64];
    shared mbarrier full;
    u32 t = thread_x(), other = cluster_rank() ^ 1, sum = 0;
    own[t] = global_x();
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_fence_init();
    }
    fence_async();
    barrier();
    cluster_arrive();
    cluster_wait();
    for (u32 round = 0; round < 2; round++) {
        if (t == 0) {
            mbarrier_arrive_expect(&full, 256);
            bulk_send(got, own, 256, &full, other);
        }
        mbarrier_wait(&full, round);
        sum += got[t];
        barrier();
    }
    out[global_x()] = sum;
    cluster_arrive();
    cluster_wait();
}
