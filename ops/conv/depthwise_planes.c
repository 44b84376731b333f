// Depthwise convolutions of tensors whose rows are contiguous, in planes of channels: neighbouring
// threads have neighbouring columns, each of them PIXELS results below each other. A thread has the
// weights of its channel in registers, reads each row of what its results need once, and adds it to all
// of them. Sums have the order of direct.c, and so its bits. INVERSE goes from the small tensor to the
// large one.
#ifdef INVERSE
#    define IS_INVERSE true
#else
#    define IS_INVERSE false
#endif
#include <kiln/kernel.h>
tune(TAPS, 3, 1, 2, 4, 5, 6, 7); // of a row
tune(FLAT, 0, 1);                // the window has one row, else as many as columns
enum { ALONG = 1, ALONG_TAPS = FLAT ? 1 : TAPS };
#include "strips.h"

enum { THREADS = 256 };
#ifndef T
#    define T f32
#endif
#ifndef BIAS
#    define BIAS f32
#endif
#include "activate.h"
KERNEL_OVERLAPS

#define FOR_TAPS(k)  _Pragma("unroll") for (u32 k = 0; k < TAPS; k++)
#define FOR_LINES(j) _Pragma("unroll") for (u32 j = 0; j < ALONG_TAPS; j++)

kernel block(THREADS) min_blocks(TAPS > 5 ? 1 : TAPS > 3 || IS_INVERSE || STRIDE != 1 || sizeof(T) == 8 ? 2 : 3) void conv_planes(const T *restrict from, const T *restrict weight, T *restrict to,
#ifdef HAS_BIAS
                                const BIAS *restrict bias,
#endif
                                struct window w, strips s)
{
    kernel_begin();
    u64 at = (u64)block_x() * THREADS + thread_x();
    if (at >= w.count)
        return;
    u32 lengths[3], column[TAPS];
    lengths[0] = w.to_space[0];
    lengths[1] = s.length;
    lengths[2] = w.to_space[2];
    place p = window_place(at, w.channels, lengths);
    u32 first = strip_first(&s, p.at[1]);
    FOR_TAPS(k)
    column[k] = (u32)window_reach(&w, 2, p.at[2], k, IS_INVERSE);
    const T *x = from + ((i64)p.batch * w.from[0] + p.channel * w.from[1]);
    const T *y = weight + p.channel * w.group;
    number sum[PIXELS];
    FOR_PIXELS(q)
    sum[q] = 0;
    for (u32 i = 0; i < w.taps[0]; i++) {
        i64 a = window_reach(&w, 0, p.at[0], i, IS_INVERSE);
        if (a < 0)
            continue;
        number own[ALONG_TAPS][TAPS], in[LINE][TAPS];
        bool has_row[LINE];
        // -0 times 1 changes no sum: columns outside are no terms.
        FOR_LINES(j)
        FOR_TAPS(k)
        own[j][k] = column[k] < w.from_space[2] ? pack_get(T, y[i * w.weight[2] + j * w.weight[3] + k * w.weight[4]]) : (number)1;
        FOR_LINE(t)
        {
            u32 row = SPACE == 1 ? 0 : line_at(&w, first, t);
            const T *line = x + (a * w.from[2] + row * w.from[3]);
            has_row[t] = row < w.from_space[1];
            FOR_TAPS(k)
            {
                in[t][k] = -(number)0;
                if (has_row[t] && column[k] < w.from_space[2])
                    in[t][k] = pack_get(T, line[column[k] * w.from[4]]);
            }
        }
#pragma unroll
        for (u32 n = 0; n < LINE; n++) {
            u32 t = IS_INVERSE && STRIDE != 0 ? LINE - 1 - n : n;
            if (has_row[t]) {
                FOR_PIXELS(q)
                FOR_LINES(j)
                if (line_index((i32)q, (i32)j) == (i32)t)
                    FOR_TAPS(k)
                sum[q] = fma(in[t][k], own[j][k], sum[q]);
            }
        }
    }
#ifdef HAS_BIAS
    number more = pack_get(BIAS, bias[p.channel * w.other[0]]);
#endif
    FOR_PIXELS(q)
    {
        u32 row = strip_result(&s, first, q);
        if (row < w.to_space[1]) {
            p.at[1] = row;
#ifdef HAS_BIAS
            sum[q] += more;
#endif
            to[window_at(w.to, p.batch, p.channel, p.at)] = pack_put(T, activate(sum[q]));
        }
    }
}
