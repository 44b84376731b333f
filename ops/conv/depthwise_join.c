// Adds the parts of the gradient by depthwise weights, f32 [part, tap, channel]: a lane has a weight, the
// warps of a block share the parts, each takes every eighth in order, and their sums are added in the
// order of the warps.
#include <kiln/window.h>

enum { THREADS = 256, WARPS = THREADS / 32, AHEAD = 8 };
#ifndef T
#    define T f32
#endif
KERNEL_OVERLAPS

kernel block(THREADS) void conv_depthwise_join(const f32 *restrict parts, T *restrict weight, struct window w, u32 count)
{
    kernel_begin();
    shared f32 sums[WARPS][32];
    u32 taps = w.taps[0] * w.taps[1] * w.taps[2];
    u64 all = (u64)taps * w.channels, at = (u64)block_x() * 32 + lane();
    f32 sum = 0;
    for (u32 first = warp(); first < count && at < all; first += AHEAD * WARPS) {
        f32 more[AHEAD];
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++)
            if (first + i * WARPS < count)
                more[i] = parts[(first + i * WARPS) * all + at];
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++)
            if (first + i * WARPS < count)
                sum += more[i];
    }
    sums[warp()][lane()] = sum;
    barrier();
    if (warp() != 0 || at >= all)
        return;
    for (u32 n = 1; n < min((u32)WARPS, count); n++)
        sum += sums[n][lane()];
    u32 tap = (u32)(at / w.channels), line = tap / w.taps[2], plane = line / w.taps[1];
    weight[(u32)(at - (u64)tap * w.channels) * w.weight[0] + plane * w.weight[2] + (line - plane * w.taps[1]) * w.weight[3] +
           (tap - line * w.taps[2]) * w.weight[4]] = pack_put(T, sum);
}
