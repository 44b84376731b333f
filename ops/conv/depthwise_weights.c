// The gradient by the weights of depthwise convolutions with channels-last tensors: a thread has V
// channels, LINES rows of taps and every so many strips of a part: PIXELS places of the small tensor,
// and what they read of the large one. The threads of a block with the same channels add their sums in
// order, each block stores f32 [part, tap, channel], and depthwise_join.c adds the parts. How the sums
// are shared out depends on the sizes alone, so every device gives the same bits.
#include <kiln/kernel.h>
tune(TAPS, 3, 1, 2, 4, 5, 6, 7); // of a row
tune(LINES, 1, 3);
enum { ALONG = 2, ALONG_TAPS = TAPS, IS_INVERSE = false };
#include "strips.h"

#ifndef T
#    define T f32
#endif
#ifndef V
#    define V 4
#endif
enum { THREADS = LINES > 1 ? 128 : 256 };
KERNEL_OVERLAPS
PACK(T, V)

#define FOR_TAPS(k)     _Pragma("unroll") for (u32 k = 0; k < TAPS; k++)
#define FOR_LINES(j)    _Pragma("unroll") for (u32 j = 0; j < LINES; j++)
#define FOR_CHANNELS(v) _Pragma("unroll") for (u32 v = 0; v < V; v++)

typedef f32 sums[LINES][TAPS][V];

typedef struct strip {
    bool has_place[PIXELS], is_inside[LINE], has_row[LINES];
    pack_raw(T, V) y[PIXELS], x[LINES][LINE]; // of the small tensor, of the large one
} strip;

// In the order of the places.
static inline void add(sums *sum, const strip *own)
{
    f32 y[PIXELS][V];
    FOR_PIXELS(q)
    if (own->has_place[q])
        pack_open(T, V, y[q], own->y[q]);
    FOR_LINES(j)
    FOR_LINE(t)
    if (own->has_row[j] && own->is_inside[t]) {
        f32 x[V];
        pack_open(T, V, x, own->x[j][t]);
        FOR_PIXELS(q)
        FOR_TAPS(k)
        if (line_index((i32)q, (i32)k) == (i32)t && own->has_place[q])
            FOR_CHANNELS(v)
        (*sum)[j][k][v] = fma(x[v], y[q][v], (*sum)[j][k][v]);
    }
}

// w.from is the large tensor, w.to the small one; w.count are all strips, w.batch those of a part.
kernel block(THREADS) min_blocks(LINES > 1 ? 3 : 2) void conv_depthwise_weights(const T *restrict large, const T *restrict small, f32 *restrict parts,
                                                  struct window w, strips s)
{
    kernel_begin();
    shared f32 shares[THREADS][V], more[THREADS + V * 32];
    u32 rows = THREADS / s.packs, row = thread_x() / s.packs, pack = thread_x() - row * s.packs;
    u32 channel = (block_y() * s.packs + pack) * V, lines = w.taps[1] / LINES;
    u32 plane = block_x() / lines, line = (block_x() - plane * lines) * LINES, lengths[3];
    lengths[0] = w.to_space[0];
    lengths[1] = w.to_space[1];
    lengths[2] = s.length;
    u64 at = block_z() * w.batch + row, end = min((block_z() + 1) * w.batch, w.count);
    sums sum;
    FOR_LINES(j)
    FOR_TAPS(k)
    FOR_CHANNELS(v)
    sum[j][k][v] = 0;
    for (; at < end && row < rows && channel < w.channels; at += rows) {
        u64 batch = at;
        u32 p[3];
        strip own;
        window_space(&batch, lengths, p);
        i64 a = window_reach(&w, 0, p[0], plane, false);
        if (a < 0)
            continue;
        u32 at_first = strip_first(&s, p[2]);
        const T *y = small + ((i64)batch * w.to[0] + channel + p[0] * w.to[2] + p[1] * w.to[3]);
        const T *x = large + ((i64)batch * w.from[0] + channel + a * w.from[2]);
        FOR_PIXELS(q)
        {
            u32 place = strip_result(&s, at_first, q);
            own.has_place[q] = place < w.to_space[2];
            if (own.has_place[q])
                own.y[q] = pack_fetch(T, V, y + place * w.to[4], 0);
        }
        FOR_LINE(t)
        own.is_inside[t] = line_at(&w, at_first, t) < w.from_space[2];
        FOR_LINES(j)
        {
            i64 b = window_reach(&w, 1, p[1], line + j, false);
            own.has_row[j] = b >= 0;
            FOR_LINE(t)
            if (own.has_row[j] && own.is_inside[t])
                own.x[j][t] = pack_fetch(T, V, x + (b * w.from[3] + line_at(&w, at_first, t) * w.from[4]), 0);
        }
        add(&sum, &own);
    }
    // V rows each, then those sums.
    u32 across = s.packs * V, groups = (rows + V - 1) / V;
    FOR_LINES(j)
    FOR_TAPS(k)
    {
        barrier();
        FOR_CHANNELS(v)
        shares[thread_x()][v] = sum[j][k][v];
        barrier();
        for (u32 n = thread_x(); n < across * groups; n += THREADS) {
            u32 group = n / across, own = n - group * across;
            f32 all = 0;
            FOR_CHANNELS(r)
            if (group * V + r < rows)
                all += shares[(group * V + r) * s.packs + own / V][own % V];
            more[n] = all;
        }
        barrier();
        for (u32 own = thread_x(); own < across; own += THREADS) {
            f32 all = more[own];
            for (u32 g = 1; g < groups; g++)
                all += more[g * across + own];
            u32 to = block_y() * across + own, tap = (plane * w.taps[1] + line + j) * TAPS + k;
            if (to < w.channels)
                parts[((u64)block_z() * (w.taps[0] * w.taps[1] * TAPS) + tap) * w.channels + to] = all;
        }
    }
}
