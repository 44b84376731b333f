// Copies and barriers, for tests/gpu/nv_copies.c. TENSOR: the number of dimensions; else the rest.
#include <kiln/kernel.h>

#ifdef TENSOR
#    if TENSOR == 1
#        define AT    i.x
#        define LOAD  tensor_load_1d
#        define STORE tensor_store_1d
#        define SUM   tensor_add_1d
#    elif TENSOR == 2
#        define AT    i.x, i.y
#        define LOAD  tensor_load_2d
#        define STORE tensor_store_2d
#        define SUM   tensor_add_2d
#    elif TENSOR == 3
#        define AT    i.x, i.y, i.z
#        define LOAD  tensor_load_3d
#        define STORE tensor_store_3d
#        define SUM   tensor_add_3d
#    elif TENSOR == 4
#        define AT    i.x, i.y, i.z, i.w
#        define LOAD  tensor_load_4d
#        define STORE tensor_store_4d
#    else
#        define AT    i.x, i.y, i.z, i.w, v
#        define LOAD  tensor_load_5d
#        define STORE tensor_store_5d
#    endif

// The box as it lies in shared memory.
kernel block(64) void load(const tensor_map map, i32x4 i, i32 v, u32 bytes, u32 *out)
{
    _Alignas(1024) shared u32 tile[];
    shared mbarrier full;
    if (thread_x() == 0) {
        mbarrier_init(&full, 1);
        mbarrier_fence_init();
    }
    barrier();
    if (thread_x() == 0) {
        mbarrier_arrive_expect(&full, bytes);
        LOAD(tile, &map, AT, &full);
    }
    mbarrier_wait(&full, 0);
    for (u32 n = thread_x(); n < bytes / 4; n += 64)
        out[n] = tile[n];
}

// Stores `image` as a box; with SUMS it is added.
kernel block(64) void store(const tensor_map map, i32x4 i, i32 v, u32 bytes, const u32 *image,
                            u32 *out)
{
    _Alignas(1024) shared u32 tile[];
    for (u32 n = thread_x(); n < bytes / 4; n += 64)
        tile[n] = image[n];
    fence_async();
    barrier();
    if (thread_x() == 0) {
        tensor_map_prefetch(&map);
#    ifdef SUMS
        SUM(&map, AT, tile);
#    else
        STORE(&map, AT, tile);
#    endif
        bulk_commit();
        bulk_wait(0);
    }
}
#else

kernel block(64) void small(const u32 *x, u32 *out)
{
    shared _Alignas(16) u32 tile[64 * 8];
    u32 t = thread_x(), *mine = tile + t * 8;
    async_copy_16(mine, x + t * 8);
    async_commit();
    async_copy_8(mine + 4, x + t * 8 + 4);
    async_copy_4_part(mine + 6, x + t * 8 + 6, t % 2 ? 4 : 0);
    async_copy_4(mine + 7, x + t * 8 + 7);
    async_commit();
    async_wait(1);
    u32 sum = mine[0] + mine[3];
    async_wait(0);
    barrier();
    u32 *other = tile + (63 - t) * 8;
    out[t] = sum + other[4] + other[5] * 3 + other[6] * 5 + other[7] * 7;
}

kernel block(64) void small_barrier(const u32 *x, u32 *out)
{
    shared u32 tile[64];
    shared mbarrier done;
    if (thread_x() == 0)
        mbarrier_init(&done, 64);
    barrier();
    async_copy_4(&tile[thread_x()], x + thread_x());
    async_arrive(&done);
    while (!mbarrier_test(&done, 0)) {
    }
    out[thread_x()] = tile[63 - thread_x()];
}

// Every sum of the copy engine, 256 bytes each.
kernel block(64) void bulk(const u32 *x, u32 *out, f32 *f, f64 *d, f16 *h, bf16 *b, u64 *q)
{
    _Alignas(128) shared u32 tile[64];
    _Alignas(128) shared f32 fs[64];
    _Alignas(128) shared f64 ds[64];
    _Alignas(128) shared f16 hs[64];
    _Alignas(128) shared bf16 bs[64];
    _Alignas(128) shared u64 qs[64];
    shared mbarrier full;
    u32 t = thread_x();
    if (t == 0) {
        mbarrier_init(&full, 2);
        mbarrier_fence_init();
    }
    barrier();
    for (u32 round = 0; round < 2; round++) {
        if (t == 0) {
            bulk_prefetch(x + round * 64, 256);
            mbarrier_expect(&full, 128);
            mbarrier_arrive_expect(&full, 128);
            bulk_load(tile, x + round * 64, 256, &full);
        }
        if (t == 32)
            mbarrier_arrive(&full);
        mbarrier_wait(&full, round);
        tile[t] = tile[t] * 2;
        fs[t] = (f32)tile[t];
        ds[t] = (f64)tile[t];
        hs[t] = to_f16((f32)(tile[t] % 64));
        bs[t] = to_bf16((f32)(tile[t] % 64));
        qs[t] = (u64)tile[t] << 32;
        fence_async();
        barrier();
        if (t == 0) {
            bulk_store(out + round * 64, tile, 256);
            bulk_commit();
            bulk_add_u32(out + 128, tile, 256);
            bulk_add_f32(f, fs, 256);
            bulk_add_f64(d, ds, 512);
            bulk_add_f16(h, hs, 128);
            bulk_add_bf16(b, bs, 128);
            bulk_add_u64(q, qs, 512);
            bulk_commit();
            bulk_wait_read(1);
            bulk_wait_read(0);
        }
        barrier();
    }
    if (t == 0)
        bulk_wait(0);
}

// One warp writes in turns with three that read.
kernel block(128) void turns(u32 *out)
{
    shared u32 value[2];
    u32 w = thread_x() / 32, sum = 0;
    for (u32 i = 0; i < 6; i++)
        if (w == 0) {
            if (i >= 2)
                barrier_sync(3 + i % 2, 128);
            if (thread_x() == 0)
                value[i % 2] = i * i;
            barrier_arrive(1 + i % 2, 128);
        } else {
            barrier_sync(1 + i % 2, 128);
            sum += value[i % 2];
            if (i < 4)
                barrier_arrive(3 + i % 2, 128);
        }
    out[thread_x()] = sum;
}

kernel block(64) cluster(2) void spread(const tensor_map map, u32 *out)
{
    _Alignas(128) shared u32 tile[2][64];
    shared mbarrier full, empty;
    u32 t = thread_x(), rank = cluster_rank();
    previous_kernel_wait();
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_init(&empty, 2);
        mbarrier_fence_init();
    }
    cluster_arrive();
    cluster_wait();
    u32 sum = 0;
    for (u32 round = 0; round < 3; round++) {
        if (t == 0) {
            if (round)
                mbarrier_wait(&empty, (round - 1) & 1); // both blocks have read the last ones
            mbarrier_arrive_expect(&full, 512);
            tensor_load_all_2d(tile[rank], &map, 0, (i32)(cluster_x() * 6 + round * 2 + rank),
                               &full, 3);
        }
        mbarrier_wait(&full, round & 1);
        sum += tile[0][t] * 3 + tile[1][t];
        barrier();
        if (t < 2)
            mbarrier_arrive_at_relaxed(&empty, t);
    }
    next_kernel_launch();
    out[global_x()] = sum * 10 + cluster_blocks() + cluster_count_x();
    cluster_arrive_relaxed();
    cluster_wait();
}

// Each block of a cluster sends a quarter of its numbers to each of the others, and adds what came.
kernel block(64) cluster(4) void exchange(u32 *out)
{
    _Alignas(16) shared u32 own[64], got[4][16];
    shared mbarrier full;
    u32 t = thread_x(), rank = cluster_rank();
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_fence_init();
    }
    own[t] = block_x() * 1000 + t * t;
    if (t / 16 == rank)
        got[rank][t % 16] = own[t];
    fence_async();
    barrier();
    if (t == 0)
        mbarrier_arrive_expect(&full, 3 * 64);
    warp_sync();
    cluster_arrive_relaxed();
    cluster_wait();
    if (t < 4 && t != rank)
        bulk_send(got[rank], own + t * 16, 64, &full, t);
    mbarrier_wait(&full, 0);
    u32 sum = 0;
    for (u32 i = 0; i < 4; i++)
        sum = sum * 3 + got[i][t % 16];
    out[global_x()] = sum;
    cluster_arrive_relaxed();
    cluster_wait();
}

// Each block writes its numbers into the next one's memory with plain stores, in three rounds.
kernel block(64) cluster(4) void pass_on(u32 *out)
{
    shared u32 got[3][64];
    shared mbarrier full[3]; // the others may be two rounds ahead
    u32 t = thread_x(), next = (cluster_rank() + 1) % 4, value = block_x() * 1000 + t * t;
    if (t == 0) {
        for (u32 round = 0; round < 3; round++)
            mbarrier_init(&full[round], 64);
        mbarrier_fence_init();
    }
    cluster_arrive();
    cluster_wait();
    for (u32 round = 0; round < 3; round++) {
        cluster_at(&got[round][t], next)[0] = value;
        mbarrier_arrive_at(&full[round], next);
        if (round == 1)
            while (!mbarrier_test_cluster(&full[round], 0))
                ;
        else
            mbarrier_wait_cluster(&full[round], 0);
        value = got[round][63 - t] * 3 + t;
    }
    out[global_x()] = value;
    cluster_arrive();
    cluster_wait();
}

// Tiles of 64 x 128, four stages, one warpgroup that loads and one that multiplies.
kernel block(256) void gemm(const tensor_map a, const tensor_map b, f32 *c, u32 n, u32 k)
{
    _Alignas(1024) shared u8 smem[];
    shared mbarrier full[4], empty[4];
    enum { STAGE = 64 * 128 + 128 * 128 };
    if (thread_x() == 0) {
        for (u32 i = 0; i < 4; i++) {
            mbarrier_init(&full[i], 1);
            mbarrier_init(&empty[i], 128);
        }
        mbarrier_fence_init();
    }
    barrier();
    u32 steps = (k + 63) / 64;
    if (thread_x() < 128) {
        registers_less(40);
        if (thread_x() == 0)
            for (u32 s = 0; s < steps; s++) {
                u32 at = s % 4;
                mbarrier_wait(&empty[at], s / 4 % 2 ^ 1);
                mbarrier_arrive_expect(&full[at], STAGE);
                tensor_load_2d(smem + at * STAGE, &a, (i32)(s * 64), (i32)(block_y() * 64),
                               &full[at]);
                tensor_load_hint_2d(smem + at * STAGE + 8192, &b, (i32)(s * 64),
                                    (i32)(block_x() * 128), &full[at], cache_evict_last());
            }
        return;
    }
    registers_more(232);
    f32 d[64];
    for (u32 s = 0; s < steps; s++) {
        u32 at = s % 4;
        mbarrier_wait(&full[at], s / 4 % 2);
        u64 left = wgmma_k_major(smem + at * STAGE, 128);
        u64 right = wgmma_k_major(smem + at * STAGE + 8192, 128);
        wgmma_fence();
        for (u32 j = 0; j < 4; j++)
            wgmma_bf16(d, wgmma_step(left, j * 32), wgmma_step(right, j * 32), s + j != 0);
        wgmma_commit();
        wgmma_wait(1);
        if (s)
            mbarrier_arrive(&empty[(s - 1) % 4]);
    }
    wgmma_wait(0);
    u32 t = thread_x() - 128;
    for (u32 i = 0; i < 64; i++) {
        u64 row = block_y() * 64 + t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
        c[row * n + block_x() * 128 + i / 4 * 8 + t % 4 * 2 + i % 2] = d[i];
    }
}
#endif
