// K6203: wgmma adds to an accumulator that nobody has set.
#include <kiln/kernel.h>

//! run f block=128 (u32[2048]:mod17, f32[4096])
kernel block(128) void f(const u32 *x, f32 *out)
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
    wgmma_bf16(d, a, b, true);
    wgmma_commit();
    wgmma_wait(0);
    for (u32 i = 0; i < 32; i++)
        out[t * 32 + i] = d[(i + t) & 31]; // not known when compiling: d stays in memory
}
