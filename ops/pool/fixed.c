// Pooling forward by windows without gaps whose size is known (fixed.h). What a window has beyond
// the ends is the element at the end once more, which changes no maximum, and 0 in an average.
#include "fixed.h"

tune(WHOLE, 0, 1);      // no window reaches beyond the ends
tune(DENSE_ROWS, 0, 1); // neighbours along the last dimension of space are neighbours in memory

// What a window reads: places behind its plane, and their numbers in the space.
typedef struct window {
    i32 where[TAPS];
    u32 number[TAPS];
    u32 inside; // bit t: tap t is not beyond the ends
} window;

// Tap k along dimension d of a window at `at`: its index, and the nearest one that there is.
static inline i32 tap(const struct fixed *f, u32 d, u32 at, u32 k)
{
    return (i32)(at * f->stride[d] + k) - (WHOLE ? 0 : (i32)f->pad[d]);
}

static inline i32 nearest(const struct fixed *f, u32 d, i32 i)
{
    return WHOLE ? i : max(min(i, (i32)f->sizes[d] - 1), 0);
}

static inline window window_of(const struct fixed *f, const u32 *at)
{
    window w;
    w.inside = 0;
#pragma unroll
    for (u32 t = 0; t < TAPS; t++) {
        i32 i = tap(f, 0, at[0], t / (TAPS1 * TAPS2)), a = nearest(f, 0, i);
        i32 j = tap(f, 1, at[1], t / TAPS2 % TAPS1), b = nearest(f, 1, j);
        i32 k = tap(f, 2, at[2], t % TAPS2), c = nearest(f, 2, k);
        w.where[t] = a * f->steps[0] + b * f->steps[1] + (DENSE_ROWS ? c : c * f->steps[2]);
        w.number[t] = ((u32)a * f->sizes[1] + (u32)b) * f->sizes[2] + (u32)c;
        w.inside |= (u32)(a == i && b == j && c == k) << t;
    }
    return w;
}

typedef struct raw {
    pack_raw(T, V) e[TAPS];
} raw;

static inline void fetch(raw *r, const T *from, const window *w)
{
#pragma unroll
    for (u32 t = 0; t < TAPS; t++)
        r->e[t] = pack_fetch(T, V, from + (i64)w->where[t] * V, 0);
}

static inline void put(T *to, INDEX *indices, const raw *r, const window *w, u32 count)
{
    number result[V], x[V];
    u32 best[V];
    pack_number(INDEX) chosen[V];
#pragma unroll
    for (u32 v = 0; v < V; v++) {
        result[v] = 0;
        best[v] = w->number[0];
    }
#pragma unroll
    for (u32 t = 0; t < TAPS; t++) {
        pack_open(T, V, x, r->e[t]);
#pragma unroll
        for (u32 v = 0; v < V; v++) {
            if (!IS_MAX) {
                result[v] += WHOLE | (w->inside >> t & 1) ? x[v] : (number)0;
            } else {
                bool wins = t == 0 || is_largest(x[v], result[v]);
                result[v] = wins ? x[v] : result[v];
                best[v] = wins ? w->number[t] : best[v];
            }
        }
    }
#pragma unroll
    for (u32 v = 0; v < V; v++) {
        result[v] = IS_MAX ? result[v] : average(result[v], WHOLE, count);
        chosen[v] = (INDEX)best[v];
    }
    pack_store(T, V, to, 0, result);
    if (WITH_INDICES)
        pack_store(INDEX, V, indices, 0, chosen);
}

kernel block(THREADS) void pool_fixed(const T *restrict from, T *restrict to,
#ifdef HAS_INDICES
                                      INDEX *restrict indices,
#endif
                                      struct nest n, struct fixed f, struct nest_turns turns)
{
    kernel_begin();
    u64 at = (u64)block_x() * THREADS + thread_x(), index[8];
    if (at >= n.packs)
        return;
    nest_find(&n, NEST_RANK, at, index);
    u32 own[3], count = 1;
#pragma unroll
    for (u32 d = 0; d < 3; d++) {
        own[d] = (u32)index[CHANNELS_LAST ? 1 + d : 2 + d];
        count *= IS_MAX ? 1 : length(&f, d, own[d]);
    }
    window w = window_of(&f, own);
    const T *read = from + nest_place(&n, NEST_RANK, index, FROM) * V;
    T *written = to + nest_place(&n, NEST_RANK, index, TO) * V;
#ifdef HAS_INDICES
    INDEX *chosen = indices + nest_place(&n, NEST_RANK, index, INDICES) * V;
#else
    INDEX *chosen = (INDEX *)0;
#endif
    u64 turn = index[0], step = n.sizes[0];
    for (; turn + (PER - 1) * step < turns.count; turn += PER * step) {
        raw r[PER];
#pragma unroll
        for (u32 k = 0; k < PER; k++, read += turns.steps[0] * V)
            fetch(&r[k], read, &w);
#pragma unroll
        for (u32 k = 0; k < PER; k++, written += turns.steps[1] * V, chosen += f.indices_turn * V)
            put(written, chosen, &r[k], &w, count);
    }
    for (; turn < turns.count && PER > 1; turn += step) {
        raw r;
        fetch(&r, read, &w);
        put(written, chosen, &r, &w, count);
        read += turns.steps[0] * V;
        written += turns.steps[1] * V;
        chosen += f.indices_turn * V;
    }
}
