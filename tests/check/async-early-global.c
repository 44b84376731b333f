// flags: --all
// K6222: bulk_wait_read says nothing about global memory.
#include <kiln/kernel.h>

//! run stored block=64 (u32[64], u32[64])
kernel block(64) void stored(u32 *x, u32 *out)
{
    _Alignas(128) shared u32 tile[64];
    u32 t = thread_x();
    tile[t] = (u32)t;
    fence_async();
    barrier();
    if (t == 0) {
        bulk_store(x, tile, 256);
        bulk_commit();
        bulk_wait_read(0);
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
        bulk_wait_read(0);
    }
    barrier();
    out[t] = x[63 - t];
}

//! run overwritten block=64 (u32[64])
kernel block(64) void overwritten(u32 *x)
{
    _Alignas(128) shared u32 tile[64];
    u32 t = thread_x();
    tile[t] = t;
    fence_async();
    barrier();
    if (t == 0) {
        bulk_store(x, tile, 256);
        bulk_commit();
        bulk_wait_read(0);
    }
    barrier();
    x[t] = 0;
}

//! run loaded_again block=64 (u32[64], u32[64])
kernel block(64) void loaded_again(u32 *x, u32 *out)
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
        bulk_wait_read(0);
        mbarrier_arrive_expect(&full, 256);
        bulk_load(back, x, 256, &full);
    }
    mbarrier_wait(&full, 0);
    out[t] = back[t];
}
