// What only NVIDIA's hardware (or Kiln's interpreter) can do, for the host's compiler (see
// kernel.h): the names are there, so that a kernel file completes and builds, but calling one stops
// the program. Rows of src/front/builtin_nv.def that mean something on a host are at the end.
#ifndef KILN_HOST_NVIDIA_H
#define KILN_HOST_NVIDIA_H

typedef u64 mbarrier;
typedef struct tensor_map {
    u64 opaque[16];
} KILN_ALIGNED(64) tensor_map;
enum { wgmma_a_mn = 1, wgmma_b_mn = 2 }; // operands that are contiguous along M or N

static inline void kiln_host_unable(const char *name, ...)
{
    fprintf(stderr, "%s: only NVIDIA's hardware and Kiln's interpreter can do this\n", name);
    abort();
}

// clang-format off
#define mbarrier_init(...)          kiln_host_unable("mbarrier_init", 0, __VA_ARGS__)
#define mbarrier_invalidate(...)    kiln_host_unable("mbarrier_invalidate", 0, __VA_ARGS__)
#define mbarrier_arrive(...)        kiln_host_unable("mbarrier_arrive", 0, __VA_ARGS__)
#define mbarrier_expect(...)        kiln_host_unable("mbarrier_expect", 0, __VA_ARGS__)
#define mbarrier_arrive_expect(...) kiln_host_unable("mbarrier_arrive_expect", 0, __VA_ARGS__)
#define mbarrier_arrive_at(...)     kiln_host_unable("mbarrier_arrive_at", 0, __VA_ARGS__)
#define mbarrier_arrive_at_relaxed(...)     kiln_host_unable("mbarrier_arrive_at_relaxed", 0, __VA_ARGS__)
#define mbarrier_test(...)          (kiln_host_unable("mbarrier_test", 0, __VA_ARGS__), 0)
#define mbarrier_wait(...)          kiln_host_unable("mbarrier_wait", 0, __VA_ARGS__)
#define mbarrier_test_cluster(...)  (kiln_host_unable("mbarrier_test_cluster", 0, __VA_ARGS__), 0)
#define mbarrier_wait_cluster(...)  kiln_host_unable("mbarrier_wait_cluster", 0, __VA_ARGS__)
#define mbarrier_fence_init()       kiln_host_unable("mbarrier_fence_init")
#define async_copy_4(...)           kiln_host_unable("async_copy_4", 0, __VA_ARGS__)
#define async_copy_8(...)           kiln_host_unable("async_copy_8", 0, __VA_ARGS__)
#define async_copy_16(...)          kiln_host_unable("async_copy_16", 0, __VA_ARGS__)
#define async_copy_4_part(...)      kiln_host_unable("async_copy_4_part", 0, __VA_ARGS__)
#define async_copy_8_part(...)      kiln_host_unable("async_copy_8_part", 0, __VA_ARGS__)
#define async_copy_16_part(...)     kiln_host_unable("async_copy_16_part", 0, __VA_ARGS__)
#define async_commit()              kiln_host_unable("async_commit")
#define async_wait(...)             kiln_host_unable("async_wait", 0, __VA_ARGS__)
#define async_arrive(...)           kiln_host_unable("async_arrive", 0, __VA_ARGS__)
#define bulk_load(...)              kiln_host_unable("bulk_load", 0, __VA_ARGS__)
#define bulk_send(...)              kiln_host_unable("bulk_send", 0, __VA_ARGS__)
#define bulk_store(...)             kiln_host_unable("bulk_store", 0, __VA_ARGS__)
#define bulk_add_f32(...)           kiln_host_unable("bulk_add_f32", 0, __VA_ARGS__)
#define bulk_add_f64(...)           kiln_host_unable("bulk_add_f64", 0, __VA_ARGS__)
#define bulk_add_f16(...)           kiln_host_unable("bulk_add_f16", 0, __VA_ARGS__)
#define bulk_add_bf16(...)          kiln_host_unable("bulk_add_bf16", 0, __VA_ARGS__)
#define bulk_add_u32(...)           kiln_host_unable("bulk_add_u32", 0, __VA_ARGS__)
#define bulk_add_u64(...)           kiln_host_unable("bulk_add_u64", 0, __VA_ARGS__)
#define bulk_prefetch(...)          kiln_host_unable("bulk_prefetch", 0, __VA_ARGS__)
#define bulk_commit()               kiln_host_unable("bulk_commit")
#define bulk_wait(...)              kiln_host_unable("bulk_wait", 0, __VA_ARGS__)
#define bulk_wait_read(...)         kiln_host_unable("bulk_wait_read", 0, __VA_ARGS__)
#define tensor_load_1d(...)         kiln_host_unable("tensor_load_1d", 0, __VA_ARGS__)
#define tensor_load_2d(...)         kiln_host_unable("tensor_load_2d", 0, __VA_ARGS__)
#define tensor_load_3d(...)         kiln_host_unable("tensor_load_3d", 0, __VA_ARGS__)
#define tensor_load_4d(...)         kiln_host_unable("tensor_load_4d", 0, __VA_ARGS__)
#define tensor_load_5d(...)         kiln_host_unable("tensor_load_5d", 0, __VA_ARGS__)
#define tensor_load_hint_2d(...)    kiln_host_unable("tensor_load_hint_2d", 0, __VA_ARGS__)
#define tensor_load_hint_3d(...)    kiln_host_unable("tensor_load_hint_3d", 0, __VA_ARGS__)
#define tensor_load_hint_4d(...)    kiln_host_unable("tensor_load_hint_4d", 0, __VA_ARGS__)
#define tensor_load_all_2d(...)     kiln_host_unable("tensor_load_all_2d", 0, __VA_ARGS__)
#define tensor_load_all_3d(...)     kiln_host_unable("tensor_load_all_3d", 0, __VA_ARGS__)
#define tensor_store_1d(...)        kiln_host_unable("tensor_store_1d", 0, __VA_ARGS__)
#define tensor_store_2d(...)        kiln_host_unable("tensor_store_2d", 0, __VA_ARGS__)
#define tensor_store_3d(...)        kiln_host_unable("tensor_store_3d", 0, __VA_ARGS__)
#define tensor_store_4d(...)        kiln_host_unable("tensor_store_4d", 0, __VA_ARGS__)
#define tensor_store_5d(...)        kiln_host_unable("tensor_store_5d", 0, __VA_ARGS__)
#define tensor_add_1d(...)          kiln_host_unable("tensor_add_1d", 0, __VA_ARGS__)
#define tensor_add_2d(...)          kiln_host_unable("tensor_add_2d", 0, __VA_ARGS__)
#define tensor_add_3d(...)          kiln_host_unable("tensor_add_3d", 0, __VA_ARGS__)
#define tensor_prefetch_2d(...)     kiln_host_unable("tensor_prefetch_2d", 0, __VA_ARGS__)
#define tensor_prefetch_3d(...)     kiln_host_unable("tensor_prefetch_3d", 0, __VA_ARGS__)
#define fence_async()               kiln_host_unable("fence_async")
#define fence_async_all()           kiln_host_unable("fence_async_all")
#define barrier_sync(...)           kiln_host_unable("barrier_sync", 0, __VA_ARGS__)
#define barrier_arrive(...)         kiln_host_unable("barrier_arrive", 0, __VA_ARGS__)
#define cluster_arrive()            kiln_host_unable("cluster_arrive")
#define cluster_arrive_relaxed()    kiln_host_unable("cluster_arrive_relaxed")
#define cluster_wait()              kiln_host_unable("cluster_wait")
#define registers_more(...)         kiln_host_unable("registers_more", 0, __VA_ARGS__)
#define registers_less(...)         kiln_host_unable("registers_less", 0, __VA_ARGS__)
#define ldmatrix(...)               kiln_host_unable("ldmatrix", 0, __VA_ARGS__)
#define ldmatrix_transposed(...)    kiln_host_unable("ldmatrix_transposed", 0, __VA_ARGS__)
#define stmatrix(...)               kiln_host_unable("stmatrix", 0, __VA_ARGS__)
#define stmatrix_transposed(...)    kiln_host_unable("stmatrix_transposed", 0, __VA_ARGS__)
#define mma_f16(...)                kiln_host_unable("mma_f16", 0, __VA_ARGS__)
#define mma_bf16(...)               kiln_host_unable("mma_bf16", 0, __VA_ARGS__)
#define mma_tf32(...)               kiln_host_unable("mma_tf32", 0, __VA_ARGS__)
#define mma_e4m3(...)               kiln_host_unable("mma_e4m3", 0, __VA_ARGS__)
#define mma_e5m2(...)               kiln_host_unable("mma_e5m2", 0, __VA_ARGS__)
#define mma_s8(...)                 kiln_host_unable("mma_s8", 0, __VA_ARGS__)
#define mma_u8(...)                 kiln_host_unable("mma_u8", 0, __VA_ARGS__)
#define wgmma_fence()               kiln_host_unable("wgmma_fence")
#define wgmma_commit()              kiln_host_unable("wgmma_commit")
#define wgmma_wait(...)             kiln_host_unable("wgmma_wait", 0, __VA_ARGS__)
#define wgmma_k_major(...)          (kiln_host_unable("wgmma_k_major", 0, __VA_ARGS__), (u64)0)
#define wgmma_mn_major(...)         (kiln_host_unable("wgmma_mn_major", 0, __VA_ARGS__), (u64)0)
#define wgmma_step(...)             (kiln_host_unable("wgmma_step", 0, __VA_ARGS__), (u64)0)
#define wgmma_f16(...)              kiln_host_unable("wgmma_f16", 0, __VA_ARGS__)
#define wgmma_bf16(...)             kiln_host_unable("wgmma_bf16", 0, __VA_ARGS__)
#define wgmma_tf32(...)             kiln_host_unable("wgmma_tf32", 0, __VA_ARGS__)
#define wgmma_e4m3(...)             kiln_host_unable("wgmma_e4m3", 0, __VA_ARGS__)
#define wgmma_e5m2(...)             kiln_host_unable("wgmma_e5m2", 0, __VA_ARGS__)
#define wgmma_e4m3_e5m2(...)        kiln_host_unable("wgmma_e4m3_e5m2", 0, __VA_ARGS__)
#define wgmma_e5m2_e4m3(...)        kiln_host_unable("wgmma_e5m2_e4m3", 0, __VA_ARGS__)
#define wgmma_s8(...)               kiln_host_unable("wgmma_s8", 0, __VA_ARGS__)
#define wgmma_u8(...)               kiln_host_unable("wgmma_u8", 0, __VA_ARGS__)
#define wgmma_s8_u8(...)            kiln_host_unable("wgmma_s8_u8", 0, __VA_ARGS__)
#define wgmma_u8_s8(...)            kiln_host_unable("wgmma_u8_s8", 0, __VA_ARGS__)

static inline u32 cluster_rank(void)    { return 0; }
static inline u32 cluster_blocks(void)  { return 1; }
static inline u32 cluster_x(void)       { return block_x(); }
static inline u32 cluster_count_x(void) { return grid_dim_x(); }
static inline bool elect_one(void)      { return lane() == 0; }
static inline u64 cache_evict_first(void) { return 0x12F0000000000000; }
static inline u64 cache_evict_last(void)  { return 0x14F0000000000000; }
static inline u32 pack_f16(f32 low, f32 high)  { return to_f16(low).bits | (u32)to_f16(high).bits << 16; }
static inline u32 pack_bf16(f32 low, f32 high) { return to_bf16(low).bits | (u32)to_bf16(high).bits << 16; }
#define cluster_at(p, rank)      ((void)(rank), (p))
#define shared_address(p)        ((u32)(uintptr_t)(p))
#define previous_kernel_wait()   ((void)0)
#define next_kernel_launch()     ((void)0)
#define tensor_map_prefetch(map) ((void)(map))
// clang-format on

#endif
