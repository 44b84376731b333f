// Reads memory and does nothing else: the least time that a product which must read so many bytes can take.
#include <kiln/kernel.h>

enum { THREADS = 512, TOGETHER = 8 }; // loads of 16 bytes that a thread has under way

// words: [4 * count]. out is written only if all bits together happen to be 1.
kernel block(THREADS) void read_all(const i32 *words, i32 *out, u32 count)
{
    const u32x4 *x = (const u32x4 *)(const void *)words;
    u32 sum = 0, step = grid_dim_x() * THREADS;
    for (u32 at = block_x() * THREADS + thread_x(); at < count; at += step * TOGETHER) {
        u32x4 v[TOGETHER];
#pragma unroll
        for (u32 i = 0; i < TOGETHER; i++)
            v[i] = x[(u64)min(at + i * step, count - 1)];
#pragma unroll
        for (u32 i = 0; i < TOGETHER; i++)
            sum |= v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
    }
    if (sum == 1)
        out[0] = (i32)sum;
}
