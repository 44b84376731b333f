// needs sm_90: the copy engine, clusters, dependent launches
#include <kiln/kernel.h>

_Alignas(1024) shared u16 tile[64][64];
shared mbarrier ready;

kernel block(128) cluster(2) void copies(tensor_map line, tensor_map plane, tensor_map cube, tensor_map four,
                                         tensor_map five, const u16 *from, u16 *to, f32 *sums)
{
    previous_kernel_wait();
    if (thread_x() == 0) {
        mbarrier_init(&ready, 1);
        mbarrier_fence_init();
        tensor_map_prefetch(&plane);
        tensor_prefetch_2d(&plane, 0, 0);
        tensor_prefetch_3d(&cube, 0, 0, 0);
        bulk_prefetch(from, 1024);
    }
    cluster_arrive_relaxed();
    cluster_wait();
    if (thread_x() == 0) {
        mbarrier_expect(&ready, 4096);
        mbarrier_arrive_expect(&ready, 8192);
        tensor_load_1d(tile, &line, 64, &ready);
        tensor_load_2d(tile, &plane, (i32)block_x() * 64, 0, &ready);
        tensor_load_3d(tile, &cube, 1, 2, 3, &ready);
        tensor_load_4d(tile, &four, 1, 2, 3, 4, &ready);
        tensor_load_5d(tile, &five, 1, 2, 3, 4, 5, &ready);
        tensor_load_hint_2d(tile, &plane, 0, 0, &ready, cache_evict_first());
        tensor_load_hint_3d(tile, &cube, 0, 0, 0, &ready, cache_evict_last());
        tensor_load_hint_4d(tile, &four, 0, 0, 0, 0, &ready, cache_evict_last());
        tensor_load_all_2d(tile, &plane, 0, 0, &ready, 3);
        tensor_load_all_3d(tile, &cube, 0, 0, 0, &ready, 1u << cluster_rank());
        bulk_load(&tile[0][0], from, 1024, &ready);
        bulk_send(&tile[1][0], &tile[0][0], 128, &ready, cluster_rank() ^ 1);
    }
    mbarrier_wait(&ready, 0);
    mbarrier_arrive_at(&ready, cluster_rank() ^ 1);
    mbarrier_arrive_at_relaxed(&ready, cluster_rank() ^ 1);
    mbarrier_wait_cluster(&ready, (u32)mbarrier_test_cluster(&ready, 1));
    u32 words[4] = {1, 2, 3, 4}, two[2] = {1, 2}, one[1] = {1};
    stmatrix(&tile[lane() % 16][lane() / 16 * 8], words);
    stmatrix_transposed(&tile[lane() % 16][0], two);
    stmatrix(&tile[lane() % 8][0], one);
    fence_async();
    fence_async_all();
    barrier();
    if (warp() == 0 && elect_one()) {
        tensor_store_1d(&line, 0, tile);
        tensor_store_2d(&plane, 0, 64, tile);
        tensor_store_3d(&cube, 0, 0, 0, tile);
        tensor_store_4d(&four, 0, 0, 0, 0, tile);
        tensor_store_5d(&five, 0, 0, 0, 0, 0, tile);
        tensor_add_1d(&line, 0, tile);
        tensor_add_2d(&plane, 0, 0, tile);
        tensor_add_3d(&cube, 0, 0, 0, tile);
        bulk_store(to, &tile[0][0], 1024);
        bulk_add_f32(sums, (const f32 *)tile, 1024);
        bulk_add_f64((f64 *)sums, (const f64 *)tile, 1024);
        bulk_add_f16((f16 *)sums, (const f16 *)tile, 1024);
        bulk_add_bf16((bf16 *)sums, (const bf16 *)tile, 1024);
        bulk_add_u32((u32 *)sums, (const u32 *)tile, 1024);
        bulk_add_u64((u64 *)sums, (const u64 *)tile, 1024);
        bulk_commit();
        bulk_wait_read(1);
        bulk_wait(0);
    }
    next_kernel_launch();
    to[(u64)cluster_x() * cluster_blocks() + cluster_count_x()] = (u16)shared_address(tile);
    cluster_arrive();
    cluster_wait();
    *cluster_at(&tile[1][thread_x() % 64], cluster_rank() ^ 1) = (u16)thread_x();
    to[thread_x()] = cluster_at(&tile[2][0], 1)[thread_x()];
    cluster_arrive();
    cluster_wait();
}
