// Depthwise convolutions: every channel has a window of its own, so the time is that of memory. A
// thread has V neighbouring channels (channels-last tensors, one access of 16 bytes) of PIXELS
// neighbouring results, and reads each weight once for all of them. Sums have the order of direct.c,
// and so its bits. INVERSE goes from the small tensor to the large one. STAGED: a block has all weights
// in shared memory, with the channels of a tap side by side.
#include <kiln/window.h>

tune(PIXELS, 4, 1, 2);
enum { THREADS = 256 };
#include "types.h"
#ifndef V
#    define V 1
#endif
#include "activate.h"
KERNEL_OVERLAPS

PACK(T, V)

#define FOR_PIXELS(q)   _Pragma("unroll") for (u32 q = 0; q < PIXELS; q++)
#define FOR_CHANNELS(v) _Pragma("unroll") for (u32 v = 0; v < V; v++)

// As window_reach, without a division for a stride of 1.
static inline i64 reach(const struct window *w, u32 d, u32 at, u32 k)
{
    if (!IS_INVERSE || d < FIRST_SPACE || w->stride[d] > 1)
        return window_reach(w, d, at, k, IS_INVERSE);
    u32 i = at + w->pad[d] - k * w->dilation[d];
    return i < w->from_space[d] ? (i64)i : -1; // below 0 it is huge
}

// w.count are threads here.
#ifdef STAGED
enum { STAGED_BYTES = 32768 }; // of all weights; the host knows it
static void stage_weights(const struct window *w, const T *weight, T *staged)
{
    u32 taps = w->taps[0] * w->taps[1] * w->taps[2], all = taps * w->channels;
    for (u32 i = thread_x(); i < all; i += THREADS) {
        u32 channel = i / taps, tap = i - channel * taps, row = tap / w->taps[2], plane = row / w->taps[1];
        i64 at = channel * w->group + plane * w->weight[2] + (row - plane * w->taps[1]) * w->weight[3] +
                 (tap - row * w->taps[2]) * w->weight[4];
        staged[(u64)tap * w->channels + channel] = weight[at];
    }
    barrier();
}
#endif

kernel block(THREADS) min_blocks(2) void conv_depthwise(const T *restrict from, const T *restrict weight, T *restrict to,
#ifdef HAS_BIAS
                                const BIAS *restrict bias,
#endif
                                struct window w)
{
    kernel_begin();
    u64 at = (u64)block_x() * THREADS + thread_x();
#ifdef STAGED
    shared T staged[STAGED_BYTES / sizeof(T)];
    stage_weights(&w, weight, staged);
#endif
    if (at >= w.count)
        return;
    u32 strips[3];
    strips[0] = w.to_space[0];
    strips[1] = w.to_space[1];
    strips[2] = (w.to_space[2] + PIXELS - 1) / PIXELS;
    place p = window_place(at, w.channels / V, strips);
    u32 channel = p.channel * V, first = p.at[2] * PIXELS;
    i64 x = (i64)p.batch * w.from[0] + channel * w.from[1];
#ifndef STAGED
    const T *y = weight + channel * w.group;
#endif
    number sum[PIXELS][V];
    FOR_PIXELS(q)
    FOR_CHANNELS(v)
    sum[q][v] = 0;
    for (u32 i = 0; i < w.taps[0]; i++)
        for (u32 j = 0; j < w.taps[1]; j++) {
            i64 a = reach(&w, 0, p.at[0], i);
            i64 b = reach(&w, 1, p.at[1], j);
            if (a < 0 || b < 0)
                continue;
            for (u32 k = 0; k < w.taps[2]; k++) {
                number own[V];
#ifdef STAGED
                u32 line = (i * w.taps[1] + j) * w.taps[2] + k;
                pack_load(T, V, own, staged, (u64)((line * w.channels + channel) / V));
#else
                i64 tap = i * w.weight[2] + j * w.weight[3] + k * w.weight[4];
                FOR_CHANNELS(v)
                own[v] = pack_get(T, y[tap + v * w.group]);
#endif
                FOR_PIXELS(q)
                {
                    i64 c = reach(&w, 2, first + q, k);
                    if (c >= 0) {
                        number in[V];
                        i64 from_at = x + a * w.from[2] + b * w.from[3] + c * w.from[4];
                        pack_load(T, V, in, from, (u64)(from_at / V));
                        FOR_CHANNELS(v)
                        sum[q][v] = fma(in[v], own[v], sum[q][v]);
                    }
                }
            }
        }
    FOR_PIXELS(q)
    {
        if (first + q < w.to_space[2]) {
            u32 place[3];
            place[0] = p.at[0];
            place[1] = p.at[1];
            place[2] = first + q;
            number out[V];
            FOR_CHANNELS(v)
            {
                out[v] = sum[q][v];
#ifdef HAS_BIAS
                out[v] += pack_get(BIAS, bias[(channel + v) * w.other[0]]);
#endif
                out[v] = activate(out[v]);
            }
            pack_store(T, V, to, (u64)(window_at(w.to, p.batch, channel, place) / V), out);
        }
    }
}
