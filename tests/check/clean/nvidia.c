// Asynchronous copies, mbarriers and wgmma used as they must be: nothing is found here.
#include <kiln/kernel.h>

//! run loaded block=64 (u32[64]:iota, u32[64])
kernel block(64) void loaded(const u32 *x, u32 *out)
{
    _Alignas(128) shared u32 tile[64];
    shared mbarrier full;
    u32 t = thread_x();
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_fence_init();
    }
    barrier();
    if (t == 0) {
        mbarrier_arrive_expect(&full, 256);
        bulk_load(tile, x, 256, &full);
    }
    mbarrier_wait(&full, 0);
    out[t] = tile[t];
}

//! run stored block=64 (u32[128])
kernel block(64) void stored(u32 *out)
{
    _Alignas(128) shared u32 tile[64];
    u32 t = thread_x();
    tile[t] = t * t;
    fence_async();
    barrier();
    if (t == 0) {
        bulk_store(out, tile, 256);
        bulk_commit();
        bulk_wait_read(0);
    }
    barrier();
    tile[t] = t;
    fence_async();
    barrier();
    if (t == 0) {
        bulk_store(out + 64, tile, 256);
        bulk_commit();
        bulk_wait(0);
    }
}

//! run small block=64 (u32[64]:iota, u32[64])
kernel block(64) void small(const u32 *x, u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    async_copy_4(&tile[t], x + t);
    async_commit();
    async_wait(0);
    barrier();
    out[t] = tile[63 - t];
}

//! run multiplied block=128 (u32[2048]:mod17, f32[4096])
kernel block(128) void multiplied(const u32 *x, f32 *out)
{
    _Alignas(1024) shared u32 tile[4096]; // A, and B: 64 rows of 128 bytes each
    f32 d[32];
    u32 t = thread_x();
    for (u32 i = t; i < 4096; i += 128)
        tile[i] = (x[i % 2048] % 3) * 0x3f803f80;
    fence_async();
    barrier();
    u64 a = wgmma_k_major(tile, 128), b = wgmma_k_major(tile + 2048, 128);
    wgmma_fence();
    for (u32 i = 0; i < 4; i++)
        wgmma_bf16(d, wgmma_step(a, i * 32), wgmma_step(b, i * 32), i != 0);
    wgmma_commit();
    wgmma_wait(0);
    for (u32 i = 0; i < 32; i++)
        out[t * 32 + i] = d[i];
}

//! run ring block=160 (u32[1024]:iota, u32[128])
kernel block(160) void ring(const u32 *x, u32 *out) // a warp that loads, four that add up
{
    _Alignas(128) shared u32 tile[2][128];
    shared mbarrier full[2], empty[2];
    u32 t = thread_x(), sum = 0;
    if (t == 0) {
        for (u32 i = 0; i < 2; i++) {
            mbarrier_init(&full[i], 1);
            mbarrier_init(&empty[i], 4);
        }
        mbarrier_fence_init();
    }
    barrier();
    if (t >= 128) {
        for (u32 i = 0; i < 8; i++)
            if (elect_one()) {
                mbarrier_wait(&empty[i % 2], i / 2 % 2 ^ 1);
                mbarrier_arrive_expect(&full[i % 2], 512);
                bulk_load(tile[i % 2], x + i * 128, 512, &full[i % 2]);
            }
        return;
    }
    for (u32 i = 0; i < 8; i++) {
        mbarrier_wait(&full[i % 2], i / 2 % 2);
        sum += tile[i % 2][127 - t];
        warp_sync();
        if (t % 32 == 0)
            mbarrier_arrive(&empty[i % 2]);
    }
    out[t] = sum;
}

// --- global memory by way of the copy engine
//! run fenced block=64 (u32[64], u32[64])
kernel block(64) void fenced(u32 *x, u32 *out)
{
    _Alignas(128) shared u32 tile[64];
    shared mbarrier full;
    u32 t = thread_x();
    x[t] = t * t;
    fence_async_all();
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_fence_init();
    }
    barrier();
    if (t == 0) {
        mbarrier_arrive_expect(&full, 256);
        bulk_load(tile, x, 256, &full);
    }
    mbarrier_wait(&full, 0);
    out[t] = tile[t];
}

//! run fenced_later block=64 (u32[64], u32[64])
kernel block(64) void fenced_later(u32 *x, u32 *out) // by the thread that starts the copy
{
    _Alignas(128) shared u32 tile[64];
    shared mbarrier full;
    u32 t = thread_x();
    x[t] = t;
    barrier();
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_fence_init();
        fence_async_all();
        mbarrier_arrive_expect(&full, 256);
        bulk_load(tile, x, 256, &full);
    }
    barrier();
    mbarrier_wait(&full, 0);
    out[t] = tile[t];
}

//! run waited block=64 (u32[64], u32[64])
kernel block(64) void waited(u32 *x, u32 *out)
{
    _Alignas(128) shared u32 tile[64];
    u32 t = thread_x();
    tile[t] = (u32)t;
    fence_async();
    barrier();
    if (t == 0) {
        bulk_store(x, tile, 256);
        bulk_commit();
        bulk_wait(0);
    }
    barrier();
    out[t] = x[63 - t];
}

//! run added block=64 (f32[64], f32[64])
kernel block(64) void added(f32 *x, f32 *out)
{
    _Alignas(128) shared f32 tile[64];
    u32 t = thread_x();
    tile[t] = (f32)t;
    fence_async();
    barrier();
    if (t == 0) {
        bulk_add_f32(x, tile, 256);
        bulk_commit();
        bulk_wait(0);
    }
    barrier();
    out[t] = x[63 - t];
}

//! run loaded_back block=64 (u32[64], u32[64])
kernel block(64) void loaded_back(u32 *x, u32 *out)
{
    _Alignas(128) shared u32 tile[64], back[64];
    shared mbarrier full;
    u32 t = thread_x();
    tile[t] = t;
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_fence_init();
    }
    fence_async();
    barrier();
    if (t == 0) {
        bulk_store(x, tile, 256);
        bulk_commit();
        bulk_wait(0);
        mbarrier_arrive_expect(&full, 256);
        bulk_load(back, x, 256, &full);
    }
    mbarrier_wait(&full, 0);
    out[t] = back[t];
}
