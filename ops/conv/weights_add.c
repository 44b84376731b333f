// Adds the parts of the gradient by the weights (implicit_weights.c, weights_sm90.c): [part, channel of
// the small tensor, tap, channel of the large one] in f32. Lanes have four neighbouring elements; the
// warps of a block share the parts, each takes every eighth in order, and their sums are added in the
// order of the warps.
#ifndef T
#    define T f16
#endif
#include "weights_put.h"
KERNEL_OVERLAPS
enum { THREADS = 256, WARPS = THREADS / 32, AHEAD = 8 };

kernel block(THREADS) void conv_weights_add(const f32 *restrict parts, T *restrict to, u32 count, u64 elements, weights_to s)
{
    kernel_begin();
    shared f32x4 sums[WARPS][32];
    u64 at = ((u64)block_x() * 32 + lane()) * 4;
    f32x4 sum = {0, 0, 0, 0};
    for (u32 first = warp(); first < count; first += AHEAD * WARPS) {
        f32x4 more[AHEAD];
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++)
            if (at < elements && first + i * WARPS < count)
                more[i] = *(const f32x4 *)(parts + (first + i * WARPS) * elements + at);
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++)
            if (at < elements && first + i * WARPS < count)
                sum = (f32x4){sum.x + more[i].x, sum.y + more[i].y, sum.z + more[i].z, sum.w + more[i].w};
    }
    sums[warp()][lane()] = sum;
    barrier();
    if (warp() != 0 || at >= elements)
        return;
    for (u32 w = 1; w < WARPS; w++) {
        f32x4 more = sums[w][lane()];
        sum = (f32x4){sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w};
    }
    u64 line = at / s.terms; // four elements are of one: terms are a multiple of 8
    u32 lines = s.lines[0] * s.lines[1] * s.lines[2], row = (u32)(line / lines);
    f32 all[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        weights_put(to, &s, row, (u32)(line - (u64)row * lines), (u32)(at - line * s.terms) + i, all[i]);
}
