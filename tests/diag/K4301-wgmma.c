// flags: --target sm_100a
// A product of four warps on a target that has none: only sm_90a has it.
#include <kiln/kernel.h>

shared u8 tile[16384];

kernel block(128) void f(f32 *out)
{
    f32 d[4];
    wgmma_fence();
    wgmma_bf16(d, wgmma_k_major(tile, 128), wgmma_k_major(tile, 128), false);
    wgmma_commit();
    wgmma_wait(0);
    out[thread_x()] = d[0];
}
