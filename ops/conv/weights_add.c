// Adds the chunks of the gradient by the weights (implicit_weights.c, weights_sm90.c): [chunk, channel
// of the small tensor, tap, channel of the large one] in f32. Lanes have four neighbouring elements;
// the warps of a block share the chunks, each takes every eighth in order, and their sums are added in
// the order of the warps.
#include <kiln/pack.h>
KERNEL_OVERLAPS

#ifndef T
#    define T f16
#endif
enum { THREADS = 256, WARPS = THREADS / 32, AHEAD = 8 };

typedef struct add_shape {
    u32 chunks, terms, taps[3]; // terms: channels that the chunks have
    u32 channels;               // of the weights: those behind them are left out
    u64 elements;               // of a chunk
    i64 to[5];                  // steps of the weights: channel of the small tensor, of the large one, taps
} add_shape;

kernel block(THREADS) void conv_weights_add(const f32 *restrict parts, T *restrict to, add_shape s)
{
    kernel_begin();
    shared f32x4 sums[WARPS][32];
    u64 at = ((u64)block_x() * 32 + lane()) * 4;
    f32x4 sum = {0, 0, 0, 0};
    for (u32 first = warp(); first < s.chunks; first += AHEAD * WARPS) {
        f32x4 more[AHEAD];
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++)
            if (at < s.elements && first + i * WARPS < s.chunks)
                more[i] = *(const f32x4 *)(parts + (first + i * WARPS) * s.elements + at);
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++)
            if (at < s.elements && first + i * WARPS < s.chunks)
                sum = (f32x4){sum.x + more[i].x, sum.y + more[i].y, sum.z + more[i].z, sum.w + more[i].w};
    }
    sums[warp()][lane()] = sum;
    barrier();
    if (warp() != 0 || at >= s.elements)
        return;
    for (u32 w = 1; w < WARPS; w++) {
        f32x4 more = sums[w][lane()];
        sum = (f32x4){sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w};
    }
    u64 line = at / s.terms; // four elements are of one: terms are a multiple of 8
    u32 channel = (u32)(at - line * s.terms);
    i64 place = channel * s.to[1];
#pragma unroll
    for (u32 d = 2; d < 3; d--) {
        u64 rest = line / s.taps[d];
        place += (i64)(line - rest * s.taps[d]) * s.to[2 + d];
        line = rest;
    }
    f32 all[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        if (channel + i < s.channels)
            to[place + (i64)line * s.to[0] + i * s.to[1]] = pack_put(T, all[i]);
}
