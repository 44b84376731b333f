// needs sm_90a: products of a warpgroup, registers that move between warpgroups
#include <kiln/kernel.h>

_Alignas(1024) shared u8 tile[32768];

kernel block(256) void products(f32 *floats, i32 *ints)
{
    if (warp() < 4) {
        registers_less(40);
        return;
    }
    registers_more(232);
    u64 a = wgmma_k_major(tile, 128), b = wgmma_k_major(tile + 16384, 128),
        mn = wgmma_mn_major(tile, 128, 8192), narrow = wgmma_k_major(tile, 64);
    f32 d[64], e[4];
    u32 half[16], words[4] = {1, 2, 3, 4};
    i32 n[32];
    wgmma_fence();
    wgmma_bf16(d, a, b, false);
    wgmma_bf16(d, wgmma_step(a, 32), wgmma_step(b, 32), true);
    wgmma_bf16(d, mn, b, true, wgmma_a_mn);
    wgmma_bf16(d, a, mn, true, wgmma_b_mn);
    wgmma_f16(d, mn, mn, true, wgmma_a_mn | wgmma_b_mn);
    wgmma_f16(half, a, b, false);
    wgmma_tf32(e, narrow, narrow, false);
    wgmma_commit();
    wgmma_e4m3(d, a, b, true);
    wgmma_e5m2(d, a, b, true);
    wgmma_e4m3_e5m2(d, a, b, true);
    wgmma_e5m2_e4m3(d, a, b, true);
    wgmma_bf16(d, words, b, true);
    wgmma_f16(d, words, mn, true, wgmma_b_mn);
    wgmma_commit();
    wgmma_s8(n, a, b, false);
    wgmma_u8(n, a, b, true);
    wgmma_s8_u8(n, a, b, true);
    wgmma_u8_s8(n, a, b, true);
    wgmma_commit();
    wgmma_wait(0);
#pragma unroll
    for (u32 k = 0; k < 64; k++)
        floats[k * 128 + thread_x() % 128] = d[k];
#pragma unroll
    for (u32 k = 0; k < 32; k++)
        ints[k * 128 + thread_x() % 128] = n[k];
#pragma unroll
    for (u32 k = 0; k < 4; k++)
        floats[8192 + k * 128 + thread_x() % 128] = e[k];
#pragma unroll
    for (u32 k = 0; k < 16; k++)
        ints[4096 + k * 128 + thread_x() % 128] = (i32)half[k];
}

// An accumulator that stays where it is over the rounds of a loop, with a product always under way.
kernel block(128) void pipelined(f32 *out, u32 steps)
{
    f32 acc[128];
    u64 a = wgmma_k_major(tile, 128), b = wgmma_k_major(tile + 8192, 128);
    for (u32 k = 0; k < steps; k++) {
        wgmma_fence();
#pragma unroll
        for (u32 s = 0; s < 4; s++)
            wgmma_bf16(acc, wgmma_step(a, s * 32), wgmma_step(b, s * 32), k != 0 || s != 0);
        wgmma_commit();
        wgmma_wait(1);
    }
    wgmma_wait(0);
#pragma unroll
    for (u32 k = 0; k < 128; k++)
        out[k * 128 + thread_x()] = acc[k];
}
