// Depthwise convolutions of channels-last tensors: every channel has a window of its own, so the time is
// that of memory. A thread has V neighbouring channels, one access of 16 bytes, of PIXELS results along
// a row. For each row of the window it reads what all of them need once, and has it in registers. Blocks
// have `packs` packs of channels, whose weights they bring to shared memory, and walk over the strips.
// Sums have the order of direct.c, and so its bits. INVERSE goes from the small tensor to the large one.
#include "types.h"
#include <kiln/kernel.h>
tune(TAPS, 3, 1, 2, 4, 5, 6, 7); // of a row
enum { ALONG = 2, ALONG_TAPS = TAPS };
#include "strips.h"

enum { THREADS = 256 };
#ifndef V
#    define V 4
#endif
#include "activate.h"
KERNEL_OVERLAPS
PACK(T, V)

#define FOR_CHANNELS(v) _Pragma("unroll") for (u32 v = 0; v < V; v++)
enum { EACH = V < 4 ? V : 4, GROUPS = V / EACH };
typedef struct weights { // of an access
    _Alignas(EACH * sizeof(number)) number e[EACH];
} weights;
shared weights staged[]; // [tap, parts of a pack, packs]

static inline void stage_weights(const struct window *w, const strips *s, const T *weight, u32 row, u32 rows, u32 pack, u32 channel)
{
    u32 taps = w->taps[0] * w->taps[1] * TAPS;
    for (u32 tap = row; tap < taps; tap += rows) {
        u32 line = tap / TAPS, plane = line / w->taps[1];
        i64 at = (i64)channel * w->group + plane * w->weight[2] + (line - plane * w->taps[1]) * w->weight[3] +
                 (tap - line * TAPS) * w->weight[4];
#pragma unroll
        for (u32 g = 0; g < GROUPS; g++) {
            weights own;
#pragma unroll
            for (u32 v = 0; v < EACH; v++)
                own.e[v] = pack_get(T, weight[at + (g * EACH + v) * w->group]);
            staged[(tap * GROUPS + g) * s->packs + pack] = own;
        }
    }
}

typedef number sums[PIXELS][V];

typedef struct line {
    i64 at, step; // of the elements in a row
    bool is_inside[LINE];
} line;

static inline line line_of(const struct window *w, u32 first)
{
    line l;
    l.at = (i64)(i32)line_at(w, first, 0) * w->from[4];
    l.step = (STRIDE > 1 || (STRIDE == 0 && IS_INVERSE) ? 1 : w->dilation[2]) * w->from[4];
    FOR_LINE(t)
    l.is_inside[t] = line_at(w, first, t) < w->from_space[2];
    return l;
}

typedef struct fetched { // a row of the window
    bool is_inside;
    pack_raw(T, V) raw[LINE];
} fetched;

static inline void fetch_row(fetched *r, const struct window *w, const T *from, u32 first, const line *l)
{
    FOR_LINE(t)
    {
        i64 at = STRIDE == 0 ? line_at(w, first, t) * w->from[4] : l->at + t * l->step;
        if (r->is_inside && l->is_inside[t])
            r->raw[t] = pack_fetch(T, V, from + at, 0);
    }
}

// In the order of the taps of every result.
static inline void add_row(sums *sum, const fetched *r, const line *l, const strips *s, u32 tap, u32 pack)
{
    number own[TAPS][V];
#pragma unroll
    for (u32 i = 0; i < TAPS * GROUPS; i++) {
        weights some = staged[(tap * GROUPS + i) * s->packs + pack];
#pragma unroll
        for (u32 v = 0; v < EACH; v++)
            own[i / GROUPS][i % GROUPS * EACH + v] = some.e[v];
    }
#pragma unroll
    for (u32 n = 0; n < LINE; n++) {
        u32 t = IS_INVERSE && STRIDE != 0 ? LINE - 1 - n : n;
        if (r->is_inside && l->is_inside[t]) {
            number in[V];
            pack_open(T, V, in, r->raw[t]);
            FOR_PIXELS(q)
#pragma unroll
            for (u32 k = 0; k < TAPS; k++)
                if (line_index((i32)q, (i32)k) == (i32)t)
                    FOR_CHANNELS(v)
            (*sum)[q][v] = fma(in[v], own[k][v], (*sum)[q][v]);
        }
    }
}

kernel block(THREADS) min_blocks(2) void conv_strips(const T *restrict from, const T *restrict weight, T *restrict to,
#ifdef HAS_BIAS
                                const BIAS *restrict bias,
#endif
                                struct window w, strips s)
{
    kernel_begin();
    u32 rows = THREADS / s.packs, row = thread_x() / s.packs, pack = thread_x() - row * s.packs;
    u32 channel = (block_y() * s.packs + pack) * V;
    bool is_here = row < rows && channel < w.channels;
    if (is_here)
        stage_weights(&w, &s, weight, row, rows, pack, channel);
    barrier();
    if (!is_here)
        return;
    u32 lengths[3];
    lengths[0] = w.to_space[0];
    lengths[1] = w.to_space[1];
    lengths[2] = s.length;
    for (u64 strip = (u64)block_x() * rows + row; strip < w.count; strip += (u64)grid_dim_x() * rows) {
        u64 batch = strip;
        u32 p[3];
        window_space(&batch, lengths, p);
        u32 first = strip_first(&s, p[2]);
        line l = line_of(&w, first);
        const T *x = from + ((i64)batch * w.from[0] + channel);
        sums sum;
        FOR_PIXELS(q)
        FOR_CHANNELS(v)
        sum[q][v] = 0;
        // A row is on its way while the one before is added.
        fetched rows_of[2];
        u32 lines = w.taps[0] * w.taps[1];
        for (u32 n = 0; n < lines + 1; n++) {
            if (n < lines) {
                u32 i = n / w.taps[1], j = n - i * w.taps[1];
                i64 a = window_reach(&w, 0, p[0], i, IS_INVERSE), b = window_reach(&w, 1, p[1], j, IS_INVERSE);
                rows_of[1].is_inside = a >= 0 && b >= 0;
                fetch_row(&rows_of[1], &w, x + (a * w.from[2] + b * w.from[3]), first, &l);
            }
            if (n > 0)
                add_row(&sum, &rows_of[0], &l, &s, (n - 1) * TAPS, pack);
            rows_of[0] = rows_of[1];
        }
        FOR_PIXELS(q)
        {
            u32 at = strip_result(&s, first, q);
            if (at < w.to_space[2]) {
                number out[V];
                FOR_CHANNELS(v)
                {
                    out[v] = sum[q][v];
#ifdef HAS_BIAS
                    out[v] += pack_get(BIAS, bias[(channel + v) * w.other[0]]);
#endif
                    out[v] = activate(out[v]);
                }
                p[2] = at;
                pack_store(T, V, to, (u64)(window_at(w.to, batch, channel, p) / V), out);
            }
        }
    }
}
