// Shared memory of other blocks of the cluster, used as it must be: nothing is found here.
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
    cluster_arrive();
    cluster_wait();
}

//! run read_twice grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void read_twice(u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    tile[t] = global_x();
    cluster_arrive();
    cluster_wait();
    u32 sum = cluster_at(tile, cluster_rank() ^ 1)[t];
    cluster_arrive();
    cluster_wait();
    tile[t] = sum;
    cluster_arrive();
    cluster_wait();
    out[global_x()] = sum + cluster_at(tile, cluster_rank() ^ 1)[t];
    cluster_arrive();
    cluster_wait();
}

//! run written grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void written(u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    cluster_arrive();
    cluster_wait();
    cluster_at(tile, cluster_rank() ^ 1)[t] = global_x();
    cluster_arrive();
    cluster_wait();
    out[global_x()] = tile[t];
}

//! run written_alike grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void written_alike(u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    cluster_arrive();
    cluster_wait();
    cluster_at(tile, 0)[t] = 5;
    cluster_arrive();
    cluster_wait();
    if (block_x() == 0)
        out[global_x()] = tile[t];
}

//! run counted grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void counted(u32 *out)
{
    shared u32 count[4];
    u32 t = thread_x();
    if (t < 4)
        count[t] = 0;
    cluster_arrive();
    cluster_wait();
    atomic_add(cluster_at(&count[t % 4], 0), 1);
    cluster_arrive();
    cluster_wait();
    if (block_x() == 0)
        out[t] = count[t % 4];
}

//! run signalled grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void signalled(u32 *out)
{
    shared u32 tile[64];
    shared mbarrier full;
    u32 t = thread_x();
    if (t == 0) {
        mbarrier_init(&full, 64);
        mbarrier_fence_init();
    }
    cluster_arrive();
    cluster_wait();
    if (cluster_rank() == 0) {
        cluster_at(tile, 1)[t] = t;
        mbarrier_arrive_at(&full, 1);
    } else {
        mbarrier_wait(&full, 0);
        out[t] = tile[63 - t];
    }
    cluster_arrive();
    cluster_wait();
}

// The last block hears of the first one through the second.
//! run relayed grid=3 block=64 (u32[64])
kernel block(64) cluster(3) void relayed(u32 *out)
{
    shared u32 tile[64];
    shared mbarrier full;
    u32 t = thread_x(), rank = cluster_rank();
    tile[t] = global_x();
    if (t == 0) {
        mbarrier_init(&full, 64);
        mbarrier_fence_init();
    }
    cluster_arrive();
    cluster_wait();
    if (rank == 0)
        tile[t] = t * t;
    if (rank)
        mbarrier_wait(&full, 0);
    if (rank < 2)
        mbarrier_arrive_at(&full, rank + 1);
    if (rank == 2)
        out[t] = cluster_at(tile, 0)[63 - t];
    cluster_arrive();
    cluster_wait();
}

//! run flagged grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void flagged(u32 *out)
{
    shared u32 tile[64], flag;
    u32 t = thread_x();
    tile[t] = global_x();
    if (t == 0)
        flag = 0;
    cluster_arrive();
    cluster_wait();
    if (cluster_rank() == 0) {
        tile[t] = t * t;
        barrier();
        if (t == 0)
            atomic_store_at(cluster_at(&flag, 1), 1, order_release, scope_device);
    } else {
        while (!atomic_load_at(&flag, order_acquire, scope_device))
            nano_sleep(100);
        barrier();
        out[t] = cluster_at(tile, 0)[63 - t];
    }
    cluster_arrive();
    cluster_wait();
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
    cluster_arrive();
    cluster_wait();
}

// Two stages that a block fills in the other one, and gets back.
//! run ring grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void ring(u32 *out)
{
    shared u32 tile[2][64];
    shared mbarrier full[2], empty[2];
    u32 t = thread_x(), other = cluster_rank() ^ 1, sum = 0;
    if (t == 0) {
        for (u32 i = 0; i < 2; i++) {
            mbarrier_init(&full[i], 64);
            mbarrier_init(&empty[i], 64);
        }
        mbarrier_fence_init();
    }
    cluster_arrive();
    cluster_wait();
    for (u32 i = 0; i < 6; i++) {
        u32 s = i % 2, phase = i / 2 % 2;
        mbarrier_wait(&empty[s], phase ^ 1);
        cluster_at(tile[s], other)[t] = global_x() + i;
        mbarrier_arrive_at(&full[s], other);
        mbarrier_wait(&full[s], phase);
        sum += tile[s][63 - t];
        mbarrier_arrive_at_relaxed(&empty[s], other);
    }
    out[global_x()] = sum;
    cluster_arrive();
    cluster_wait();
}

//! run sent_twice grid=2 block=64 (u32[128])
kernel block(64) cluster(2) void sent_twice(u32 *out)
{
    _Alignas(16) shared u32 own[64], got[64];
    shared mbarrier full, empty;
    u32 t = thread_x(), other = cluster_rank() ^ 1, sum = 0;
    own[t] = global_x();
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_init(&empty, 64);
        mbarrier_fence_init();
    }
    fence_async();
    barrier();
    cluster_arrive();
    cluster_wait();
    for (u32 round = 0; round < 2; round++) {
        if (t == 0) {
            mbarrier_wait(&empty, round ^ 1);
            mbarrier_arrive_expect(&full, 256);
            bulk_send(got, own, 256, &full, other);
        }
        mbarrier_wait(&full, round);
        sum += got[t];
        mbarrier_arrive_at_relaxed(&empty, other);
    }
    out[global_x()] = sum;
    cluster_arrive();
    cluster_wait();
}

//! run loaded grid=2 block=64 (u32[128]:iota, u32[128])
kernel block(64) cluster(2) void loaded(const u32 *x, u32 *out)
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
    barrier();
    mbarrier_wait(&full, 0);
    cluster_arrive();
    cluster_wait();
    out[global_x()] = cluster_at(tile, cluster_rank() ^ 1)[t];
    cluster_arrive();
    cluster_wait();
}
