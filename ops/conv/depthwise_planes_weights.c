// The gradient by the weights of depthwise convolutions with tensors in planes of channels: a block has
// one channel, one plane of taps and a part of the places. Its threads have strips of PIXELS places below
// each other, and all taps. Their sums are added in the order of warp_sum, those of warps one after the
// other: f32 [part, tap, channel], which depthwise_join.c adds. How the sums are shared out depends on
// the sizes alone, so every device gives the same bits.
#include <kiln/kernel.h>
tune(TAPS, 3, 1, 2, 4, 5, 6, 7); // of a row
tune(FLAT, 0, 1);                // the window has one row, else as many as columns
enum { ALONG = 1, ALONG_TAPS = FLAT ? 1 : TAPS, IS_INVERSE = false };
#include "strips.h"

enum { THREADS = 256 };
#ifndef T
#    define T f32
#endif
KERNEL_OVERLAPS

#define FOR_TAPS(k)  _Pragma("unroll") for (u32 k = 0; k < TAPS; k++)
#define FOR_LINES(j) _Pragma("unroll") for (u32 j = 0; j < ALONG_TAPS; j++)

// w.from is the large tensor, w.to the small one; w.count are all strips of a channel, w.batch those of
// a part.
kernel block(THREADS) min_blocks(TAPS > 5 ? 1 : 2) void conv_planes_weights(const T *restrict large, const T *restrict small, f32 *restrict parts,
                                               struct window w, strips s)
{
    kernel_begin();
    shared f32 shares[THREADS / 32];
    u32 plane = block_y(), channel = block_x(), lengths[3];
    lengths[0] = w.to_space[0];
    lengths[1] = s.length;
    lengths[2] = w.to_space[2];
    u64 at = block_z() * w.batch + thread_x(), end = min((block_z() + 1) * w.batch, w.count);
    f32 sum[ALONG_TAPS][TAPS];
    FOR_LINES(j)
    FOR_TAPS(k)
    sum[j][k] = 0;
    for (; at < end; at += THREADS) {
        u64 batch = at;
        u32 p[3], column[TAPS];
        window_space(&batch, lengths, p);
        i64 a = window_reach(&w, 0, p[0], plane, false);
        if (a < 0)
            continue;
        u32 first = strip_first(&s, p[1]);
        const T *x = large + ((i64)batch * w.from[0] + channel * w.from[1] + a * w.from[2]);
        const T *y = small + ((i64)batch * w.to[0] + channel * w.to[1] + p[0] * w.to[2] + p[2] * w.to[4]);
        f32 in[LINE][TAPS], out[PIXELS];
        FOR_TAPS(k)
        column[k] = (u32)window_reach(&w, 2, p[2], k, false);
        FOR_PIXELS(q)
        {
            u32 place = SPACE == 1 ? 0 : strip_result(&s, first, q);
            out[q] = 0;
            if (place < w.to_space[1])
                out[q] = (f32)pack_get(T, y[place * w.to[3]]);
        }
        FOR_LINE(t)
        {
            u32 row = SPACE == 1 ? 0 : line_at(&w, first, t);
            FOR_TAPS(k)
            {
                in[t][k] = 0;
                if (row < w.from_space[1] && column[k] < w.from_space[2])
                    in[t][k] = (f32)pack_get(T, x[row * w.from[3] + column[k] * w.from[4]]);
            }
        }
        FOR_TAPS(k)
        if (column[k] < w.from_space[2]) {
            FOR_LINE(t)
            {
                u32 row = SPACE == 1 ? 0 : line_at(&w, first, t);
                FOR_PIXELS(q)
                FOR_LINES(j)
                if (line_index((i32)q, (i32)j) == (i32)t) {
                    bool is_term = row < w.from_space[1] && (SPACE == 1 || strip_result(&s, first, q) < w.to_space[1]);
                    sum[j][k] = is_term ? fma(in[t][k], out[q], sum[j][k]) : sum[j][k];
                }
            }
        }
    }
    FOR_LINES(j)
    FOR_TAPS(k)
    {
        f32 own = warp_sum(sum[j][k]);
        barrier();
        if (lane() == 0)
            shares[warp()] = own;
        barrier();
        if (thread_x() == 0) {
            f32 all = shares[0];
#pragma unroll
            for (u32 n = 1; n < THREADS / 32; n++)
                all += shares[n];
            u32 tap = (plane * ALONG_TAPS + j) * TAPS + k;
            parts[((u64)block_z() * (w.taps[0] * ALONG_TAPS * TAPS) + tap) * w.channels + channel] = all;
        }
    }
}
