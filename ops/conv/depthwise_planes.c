// Depthwise convolutions of tensors whose rows are contiguous, in planes of channels: neighbouring
// threads have neighbouring columns, each of them PIXELS results below each other. A thread has the
// weights of its channel in registers, reads each row of what its results need once, and adds it to all
// of them. Sums have the order of direct.c, and so its bits. INVERSE goes from the small tensor to the
// large one.
#include "types.h"
#include <kiln/kernel.h>
tune(TAPS, 3, 1, 2, 4, 5, 6, 7); // of a row
tune(FLAT, 0, 1);                // the window has one row, else as many as columns
tune(WIDE, 1, 2);                // columns of a thread; 2: with a stride and a dilation of 1 along a row
enum { ALONG = 1, ALONG_TAPS = FLAT ? 1 : TAPS };
#include "strips.h"

enum { THREADS = 256 };
#include "activate.h"
KERNEL_OVERLAPS

enum { READ = TAPS + WIDE - 1 }; // columns

#define FOR_WIDE(c)  _Pragma("unroll") for (u32 c = 0; c < WIDE; c++)
#define FOR_READ(m)  _Pragma("unroll") for (u32 m = 0; m < READ; m++)
#define FOR_TAPS(k)  _Pragma("unroll") for (u32 k = 0; k < TAPS; k++)
#define FOR_LINES(j) _Pragma("unroll") for (u32 j = 0; j < ALONG_TAPS; j++)

// The column that number m of those read is.
static inline u32 column_of(const struct window *w, u32 first, u32 m)
{
    if (WIDE == 1)
        return (u32)window_reach(w, 2, first, m, IS_INVERSE);
    return IS_INVERSE ? first + w->pad[2] + m - (TAPS - 1) : first + m - w->pad[2];
}

// The tap with which column c of the results reads it; TAPS and more: none.
static inline u32 tap_of(u32 c, u32 m)
{
    return WIDE == 1 ? m : IS_INVERSE ? c + TAPS - 1 - m : m - c;
}

kernel block(THREADS) min_blocks(TAPS > 5 ? 1 : TAPS > 3 || WIDE > 1 || IS_INVERSE || STRIDE != 1 || sizeof(T) == 8 ? 2 : 3) void conv_planes(const T *restrict from, const T *restrict weight, T *restrict to,
#ifdef HAS_BIAS
                                const BIAS *restrict bias,
#endif
                                struct window w, strips s)
{
    kernel_begin();
    u64 at = (u64)block_x() * THREADS + thread_x();
    if (at >= w.count)
        return;
    u32 lengths[3], column[READ];
    lengths[0] = w.to_space[0];
    lengths[1] = s.length;
    lengths[2] = (w.to_space[2] + WIDE - 1) / WIDE;
    place p = window_place(at, w.channels, lengths);
    u32 first = strip_first(&s, p.at[1]);
    u32 own_column = p.at[2] * WIDE;
    FOR_READ(m)
    column[m] = column_of(&w, own_column, m);
    const T *x = from + ((i64)p.batch * w.from[0] + p.channel * w.from[1]);
    const T *y = weight + p.channel * w.group;
    number sum[WIDE][PIXELS];
    FOR_WIDE(c)
    FOR_PIXELS(q)
    sum[c][q] = 0;
    for (u32 i = 0; i < w.taps[0]; i++) {
        i64 a = window_reach(&w, 0, p.at[0], i, IS_INVERSE);
        if (a < 0)
            continue;
        number own[ALONG_TAPS][TAPS], in[LINE][READ];
        bool has_row[LINE];
        // -0 times 1 changes no sum: a column outside is no term.
        FOR_LINES(j)
        FOR_TAPS(k)
        own[j][k] = WIDE > 1 || column[k] < w.from_space[2] ? pack_get(T, y[i * w.weight[2] + j * w.weight[3] + k * w.weight[4]]) : (number)1;
        FOR_LINE(t)
        {
            u32 row = SPACE == 1 ? 0 : line_at(&w, first, t);
            const T *line = x + (a * w.from[2] + row * w.from[3]);
            has_row[t] = row < w.from_space[1];
            FOR_READ(m)
            {
                in[t][m] = -(number)0;
                if (has_row[t] && column[m] < w.from_space[2])
                    in[t][m] = pack_get(T, line[column[m] * w.from[4]]);
            }
        }
#pragma unroll
        for (u32 n = 0; n < LINE; n++) {
            u32 t = IS_INVERSE && STRIDE != 0 ? LINE - 1 - n : n;
            if (has_row[t])
                FOR_READ(mm)
                {
                    u32 m = IS_INVERSE && WIDE > 1 ? READ - 1 - mm : mm;
                    if (WIDE == 1 || column[m] < w.from_space[2]) {
                        FOR_WIDE(c)
                        FOR_PIXELS(q)
                        FOR_LINES(j)
                        if (line_index((i32)q, (i32)j) == (i32)t && tap_of(c, m) < TAPS)
                            sum[c][q] = fma(in[t][m], own[j][tap_of(c, m) % TAPS], sum[c][q]);
                    }
                }
        }
    }
#ifdef HAS_BIAS
    number more = pack_get(BIAS, bias[p.channel * w.other[0]]);
#endif
    FOR_WIDE(c)
    FOR_PIXELS(q)
    {
        u32 row = strip_result(&s, first, q);
        if (row < w.to_space[1] && own_column + c < w.to_space[2]) {
            p.at[1] = row;
            p.at[2] = own_column + c;
#ifdef HAS_BIAS
            sum[c][q] += more;
#endif
            to[window_at(w.to, p.batch, p.channel, p.at)] = pack_put(T, activate(sum[c][q]));
        }
    }
}
