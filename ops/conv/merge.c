// The weights of a convolution with groups of few channels, for fewer and larger groups (host_merge.c):
// [channel of the small tensor, tap, channel of the large one in the larger group], dense. What is not of
// the channel's own group is zero. A thread has eight elements.
#include <kiln/pack.h>
KERNEL_OVERLAPS

#ifndef T
#    define T f16
#endif
PACK(T, 8)
enum { THREADS = 256 };

typedef struct merge_shape {
    u32 count;         // threads
    u32 eights;        // of a tap
    u32 taps[3];
    u32 small, large;  // channels of a group, before
    u32 merged;        // groups that become one
    i64 from[5];       // steps of the weights
} merge_shape;

kernel block(THREADS) void conv_merge(const T *restrict from, T *restrict to, merge_shape s)
{
    kernel_begin();
    u32 at = block_x() * THREADS + thread_x();
    if (at >= s.count)
        return;
    u32 line = at / s.eights, row = line / s.taps[2], plane = row / s.taps[1], channel = plane / s.taps[0];
    u32 first = (at - line * s.eights) * 8, own = channel / s.small % s.merged * s.large;
    const T *x = from + (channel * s.from[0] + (plane - channel * s.taps[0]) * s.from[2] + (row - plane * s.taps[1]) * s.from[3] +
                         (line - row * s.taps[2]) * s.from[4]);
    pack_number(T) out[8];
#pragma unroll
    for (u32 i = 0; i < 8; i++) {
        u32 c = first + i - own; // before the group's first it is huge
        out[i] = c < s.large ? pack_get(T, x[c * s.from[1]]) : 0;
    }
    pack_store(T, 8, to, at, out);
}
