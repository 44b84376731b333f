// out = scale[row] * q, the bytes brought in by the copy engine: a block asks for its whole piece at
// once and writes whole lines while the next blocks' pieces are on their way. Few, long reads
// disturb the writes less than many short ones. A piece lies within one row.
#include <kiln/kernel.h>

tune(PIECE, 4096, 1024, 2048, 8192, 16384, 32768); // elements of a block
tune(THREADS, 256, 128, 512);
#ifndef COLS
#    define COLS cols
#endif

_Alignas(128) shared i8 piece[PIECE];
shared mbarrier full;

kernel block(THREADS) void dequant(const i8 *restrict q, const f32 *restrict scale, f32 *restrict out,
                                   u32 cols, u32 n)
{
    u32 first = block_x() * PIECE;
    if (thread_x() == 0) {
        mbarrier_init(&full, 1);
        mbarrier_fence_init();
        mbarrier_arrive_expect(&full, PIECE);
        bulk_load(piece, q + first, PIECE, &full);
    }
    barrier();
    f32x4 *to = (f32x4 *)(out + first) + thread_x();
    const i8x4 *from = (const i8x4 *)piece + thread_x();
    f32 s[(PIECE + 4095) / 4096];
#pragma unroll
    for (u32 r = 0; r < (PIECE + 4095) / 4096; r++)
        s[r] = scale[(first + r * 4096) / COLS];
    mbarrier_wait(&full, 0);
#pragma unroll
    for (u32 j = 0; j < PIECE / (THREADS * 4); j++) {
        i8x4 a = from[j * THREADS];
        f32 by = s[j * THREADS * 4 / 4096];
        f32x4 v = {by * (f32)a.x, by * (f32)a.y, by * (f32)a.z, by * (f32)a.w};
        if (first + (j * THREADS + thread_x()) * 4 < n)
            store_stream(&to[j * THREADS], v);
    }
}
