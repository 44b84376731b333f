// needs sm_80: barriers in shared memory, asynchronous copies, matrix products of one warp
#include <kiln/kernel.h>

shared u16 tile[2][16][64];
shared mbarrier ready;

kernel block(64) void copies(const u16 *from, u16 *out, u32 left)
{
    u32 t = thread_x();
    if (t == 0)
        mbarrier_init(&ready, 64);
    barrier();
    async_copy_16(&tile[0][t / 8][t % 8 * 8], from + t * 8);
    async_copy_8(&tile[0][t / 8 + 8][t % 8 * 8], from + 512 + t * 8);
    async_copy_4(&tile[1][t / 8][t % 8 * 8], from + 1024 + t * 8);
    async_commit();
    async_copy_16_part(&tile[1][t / 8 + 8][t % 8 * 8], from, left);
    async_copy_8_part(&tile[1][0][0], from, left);
    async_copy_4_part(&tile[1][0][0], from, left);
    async_commit();
    async_wait(1);
    async_arrive(&ready);
    async_wait(0);
    barrier_arrive(1, 64);
    barrier_sync(2, 64);
    if (!mbarrier_test(&ready, 0))
        mbarrier_wait(&ready, 0);
    mbarrier_arrive(&ready);
    out[t] = tile[0][t / 8][t % 8];
    barrier();
    if (t == 0)
        mbarrier_invalidate(&ready);
}

kernel block(32) void products(f32 *floats, i32 *ints)
{
    u32 a[4], b[2], one[1], two[2], half[2] = {0, 0};
    f32 d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    i32 n[4] = {0, 0, 0, 0};
    ldmatrix(a, &tile[0][lane() % 16][lane() / 16 * 8]);
    ldmatrix_transposed(b, &tile[1][lane() % 16][0]);
    ldmatrix(one, &tile[1][lane() % 8][0]);
    ldmatrix_transposed(two, &tile[0][lane() % 16][0]);
    mma_f16(d, a, b);
    mma_bf16(d, a, b);
    mma_tf32(d, a, b);
    mma_f16(half, a, b);
    mma_f16(d, two, one);
    mma_bf16(d, two, one);
    mma_tf32(d, two, one);
    mma_s8(n, a, b);
    mma_u8(n, a, b);
    mma_s8(n, two, one);
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        floats[k * 32 + lane()] = d[k];
        ints[k * 32 + lane()] = n[k];
    }
    ints[128 + lane()] = (i32)(half[0] ^ half[1]);
    ints[160 + lane()] = (i32)pack_f16(d[0], d[1]) ^ (i32)pack_bf16(d[2], d[3]);
}

kernel block(64) void arrivals(u32 left)
{
    if (thread_x() < left) // no jump: the instruction carries the condition
        mbarrier_arrive(&ready);
}
