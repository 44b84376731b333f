// Convolutions of any shape, stride, dilation and layout on every device, term by term. A window
// slides over the large tensor; each place of it is an element of the small one. One kernel goes
// from large to small (convolution), from small to large with INVERSE (its gradient by the operand,
// and transposed convolution), the other to the weights.
//
// A sum runs over the places of the window, and for each over the channels: fma by fma, so every
// device gives the same bits. A warp shares the sum of a weight.
#include <kiln/window.h>

enum { THREADS = 256 };
#include "types.h"
#include "activate.h"
KERNEL_OVERLAPS

#ifndef WEIGHTS
kernel block(THREADS) void conv(const T *restrict from, const T *restrict weight, T *restrict to,
#    ifdef HAS_BIAS
                                const BIAS *restrict bias,
#    endif
                                struct window w)
{
    kernel_begin();
    u64 at = (u64)block_x() * THREADS + thread_x();
    if (at >= w.count)
        return;
    place p = window_place(at, w.channels, w.to_space);
    u32 group = p.channel / w.per_group;
    const T *x = from + ((i64)p.batch * w.from[0] + (i64)(group * w.terms) * w.from[1]);
    const T *y = weight + ((i64)group * w.group +
                           (i64)(p.channel - group * w.per_group) * w.weight[0]);
    number sum = 0;
    for (u32 i = 0; i < w.taps[0]; i++)
        for (u32 j = 0; j < w.taps[1]; j++)
            for (u32 k = 0; k < w.taps[2]; k++) {
                i64 a = window_reach(&w, 0, p.at[0], i, IS_INVERSE), b = window_reach(&w, 1, p.at[1], j, IS_INVERSE);
                i64 c = window_reach(&w, 2, p.at[2], k, IS_INVERSE);
                if (a < 0 || b < 0 || c < 0)
                    continue;
                i64 place = a * w.from[2] + b * w.from[3] + c * w.from[4];
                i64 tap = i * w.weight[2] + j * w.weight[3] + k * w.weight[4];
                for (u32 term = 0; term < w.terms; term++)
                    sum = fma(pack_get(T, x[place + term * w.from[1]]),
                              pack_get(T, y[tap + term * w.weight[1]]), sum);
            }
#    ifdef HAS_BIAS
    sum += pack_get(BIAS, bias[p.channel * w.other[0]]);
#    endif
    to[window_at(w.to, p.batch, p.channel, p.at)] = pack_put(T, activate(sum));
}
#else
// weight[s, l, window] = sum of small[n, s, p] * large[n, l, p * stride + …] over n and p. `from` is
// the large tensor, `to` the small one; terms are channels of `from` in a group.
kernel block(THREADS) void conv(const T *restrict from, const T *restrict to, T *restrict weight,
                                struct window w)
{
    kernel_begin();
    u64 at = (u64)block_x() * (THREADS / 32) + warp();
    if (at >= w.count)
        return;
    u64 rest = at;
    u32 tap[3];
#    pragma unroll
    for (u32 d = 2; d + 1 > 0; d--)
        tap[d] = (u32)window_divide(&rest, w.taps[d]);
    u32 term = (u32)window_divide(&rest, w.terms), channel = (u32)rest;
    u32 group = channel / w.per_group;
    number sum = 0;
    for (u64 m = lane(); m < w.batch; m += 32) {
        u64 n = m;
        u32 p[3];
        window_space(&n, w.to_space, p);
        i64 a = window_reach(&w, 0, p[0], tap[0], IS_INVERSE), b = window_reach(&w, 1, p[1], tap[1], IS_INVERSE);
        i64 c = window_reach(&w, 2, p[2], tap[2], IS_INVERSE);
        if (a < 0 || b < 0 || c < 0)
            continue;
        i64 x = (i64)n * w.from[0] + (group * w.terms + term) * w.from[1] + a * w.from[2] +
                b * w.from[3] + c * w.from[4];
        sum = fma(pack_get(T, from[x]), pack_get(T, to[window_at(w.to, n, channel, p)]), sum);
    }
    sum = warp_sum(sum);
    if (lane() == 0)
        weight[group * w.group + (channel - group * w.per_group) * w.weight[0] +
               term * w.weight[1] + tap[0] * w.weight[2] + tap[1] * w.weight[3] +
               tap[2] * w.weight[4]] = pack_put(T, sum);
}
#endif
