// The gradient of pooling by windows without gaps (fixed.h): a thread finds the windows that reach
// its element and adds their gradients in their order. A window that does not reach it adds 0.
#include "fixed.h"

// The windows that may reach an element: places of their gradients and indices, how many elements
// each is over, and which of them do reach it.
typedef struct near {
    i32 where[TAPS], other[TAPS];
    u32 count[TAPS];
    u32 reaches;
} near;

static inline near near_of(const struct fixed *f, const u32 *at)
{
    near w;
    u32 first[3];
#pragma unroll
    for (u32 d = 0; d < 3; d++) {
        u32 reach = at[d] + f->pad[d];
        first[d] = reach < f->taps[d] ? 0 : (reach - f->taps[d]) / f->stride[d] + 1;
    }
    w.reaches = 0;
#pragma unroll
    for (u32 t = 0; t < TAPS; t++) {
        const u32 k[3] = {t / (TAPS1 * TAPS2), t / TAPS2 % TAPS1, t % TAPS2};
        bool reaches = true;
        w.where[t] = w.other[t] = 0;
        w.count[t] = 1;
#pragma unroll
        for (u32 d = 0; d < 3; d++) {
            u32 o = first[d] + k[d], own = min(o, f->windows[d] - 1);
            reaches = reaches && own == o && o * f->stride[d] <= at[d] + f->pad[d];
            w.where[t] += (i32)own * f->steps[d];
            w.other[t] += (i32)own * f->other[d];
            w.count[t] *= length(f, d, own);
        }
        w.reaches |= (u32)reaches << t;
    }
    return w;
}

typedef struct raw {
    pack_raw(T, V) e[TAPS];
    pack_raw(INDEX, V) i[WITH_INDICES ? TAPS : 1];
} raw;

static inline void fetch(raw *r, const T *from, const INDEX *indices, const near *w)
{
#pragma unroll
    for (u32 t = 0; t < TAPS; t++) {
        r->e[t] = pack_fetch(T, V, from + (i64)w->where[t] * V, 0);
        if (WITH_INDICES)
            r->i[t] = pack_fetch(INDEX, V, indices + (i64)w->other[t] * V, 0);
    }
}

static inline void put(T *to, const raw *r, const near *w, u32 own)
{
    number sum[V], x[V];
    pack_number(INDEX) index[V];
#pragma unroll
    for (u32 v = 0; v < V; v++)
        sum[v] = 0;
#pragma unroll
    for (u32 t = 0; t < TAPS; t++) {
        bool reaches = (w->reaches >> t & 1) != 0;
        pack_open(T, V, x, r->e[t]);
        if (WITH_INDICES)
            pack_open(INDEX, V, index, r->i[WITH_INDICES ? t : 0]);
#pragma unroll
        for (u32 v = 0; v < V; v++) {
            number share = WITH_INDICES ? x[v] : x[v] / (number)w->count[t];
            sum[v] += reaches && (!WITH_INDICES || index[v] == (INDEX)own) ? share : (number)0;
        }
    }
    pack_store(T, V, to, 0, sum);
}

kernel block(THREADS) void pool_fixed_backward(const T *restrict from, T *restrict to,
#ifdef HAS_INDICES
                                               const INDEX *restrict indices,
#endif
                                               struct nest n, struct fixed f, struct nest_turns turns)
{
    kernel_begin();
    u64 number_of = (u64)block_x() * THREADS + thread_x(), index[8];
    if (number_of >= n.packs)
        return;
    nest_find(&n, NEST_RANK, number_of, index);
    u32 at[3];
#pragma unroll
    for (u32 d = 0; d < 3; d++)
        at[d] = (u32)index[CHANNELS_LAST ? 1 + d : 2 + d];
    near w = near_of(&f, at);
    u32 own = (at[0] * f.sizes[1] + at[1]) * f.sizes[2] + at[2];
    const T *read = from + nest_place(&n, NEST_RANK, index, FROM) * V;
    T *written = to + nest_place(&n, NEST_RANK, index, TO) * V;
#ifdef HAS_INDICES
    const INDEX *chosen = indices + nest_place(&n, NEST_RANK, index, INDICES) * V;
#else
    const INDEX *chosen = (const INDEX *)0;
#endif
    u64 turn = index[0], step = n.sizes[0];
    for (; turn + (PER - 1) * step < turns.count; turn += PER * step) {
        raw r[PER];
#pragma unroll
        for (u32 k = 0; k < PER; k++, read += turns.steps[0] * V, chosen += f.indices_turn * V)
            fetch(&r[k], read, chosen, &w);
#pragma unroll
        for (u32 k = 0; k < PER; k++, written += turns.steps[1] * V)
            put(written, &r[k], &w, own);
    }
    for (; turn < turns.count && PER > 1; turn += step) {
        raw r;
        fetch(&r, read, chosen, &w);
        put(written, &r, &w, own);
        read += turns.steps[0] * V;
        written += turns.steps[1] * V;
        chosen += f.indices_turn * V;
    }
}
