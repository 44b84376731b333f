// Pooling forward where neighbours along the last dimension of space are neighbours in memory. A
// thread has V results side by side along it, and reads each row of their windows as one pack and
// the few elements beside it. Other windows are those of fixed.c; this gives the same bits.
//
// The pack of a row begins at the element V * STRIDE of the thread's number along the row, and has
// one step of the window for each result: it lies inside of every row. BEFORE elements come before
// it and AFTER behind it; those beyond the ends are the element at the end once more.
#include "fixed.h"

tune(WHOLE, 0, 1); // no window reaches beyond the ends
#ifndef STRIDE
#    define STRIDE 1
#    define WIDE   V // elements of the pack of a row: V * STRIDE
#    define BEFORE 1
#    define AFTER  1
#endif
#if STRIDE > 1
PACK(T, WIDE)
#endif
enum { ROWS = TAPS0 * TAPS1, EDGES = BEFORE + AFTER, SPAN = EDGES + WIDE, ALL = ROWS <= 2 ? 2 : 1 };

// What the windows of a thread read: places behind a plane, and their numbers in the space.
typedef struct window {
    i32 where[ROWS];   // of the pack
    u32 number[ROWS];  // of its first element
    i32 column[SPAN];  // from there
    u32 rows, columns; // bit n: row n, element n of a row is not beyond the ends
    u32 count[V];      // elements of an average
} window;

static inline i32 nearest(const struct fixed *f, u32 d, i32 i)
{
    return WHOLE ? i : max(min(i, (i32)f->sizes[d] - 1), 0);
}

static inline window window_of(const struct fixed *f, const u32 *at)
{
    window w;
    i32 first = (i32)at[2] * WIDE;
    w.rows = w.columns = 0;
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) {
        i32 i = (i32)(at[0] * f->stride[0] + r / TAPS1) - (i32)f->pad[0], a = nearest(f, 0, i);
        i32 j = (i32)(at[1] * f->stride[1] + r % TAPS1) - (i32)f->pad[1], b = nearest(f, 1, j);
        w.where[r] = a * f->steps[0] + b * f->steps[1] + first;
        w.number[r] = ((u32)a * f->sizes[1] + (u32)b) * f->sizes[2] + (u32)first;
        w.rows |= (u32)(a == i && b == j) << r;
    }
#pragma unroll
    for (u32 n = 0; n < SPAN; n++) {
        i32 i = first + (i32)n - BEFORE;
        bool is_edge = n < BEFORE || n >= BEFORE + WIDE;
        w.column[n] = is_edge ? nearest(f, 2, i) - first : (i32)n - BEFORE;
        w.columns |= (u32)(!is_edge || w.column[n] + first == i) << n;
    }
#pragma unroll
    for (u32 v = 0; v < V; v++)
        w.count[v] = IS_MAX ? 1 : length(f, 0, at[0]) * length(f, 1, at[1]) * length(f, 2, at[2] * V + v);
    return w;
}

typedef struct raw {
    pack_raw(T, WIDE) e[ROWS];
    T edge[ROWS][EDGES ? EDGES : 1];
} raw;

static inline void fetch(raw *to, const T *from, const window *w)
{
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) {
        const T *row = from + (i64)w->where[r];
        to->e[r] = pack_fetch(T, WIDE, row, 0);
#pragma unroll
        for (u32 n = 0; n < EDGES; n++)
            to->edge[r][n] = row[w->column[n < BEFORE ? n : n + WIDE]];
    }
}

static inline void put(T *to, INDEX *indices, const raw *from, const window *w)
{
    number result[V], x[SPAN], inner[WIDE];
    u32 best[V];
    pack_number(INDEX) chosen[V];
#pragma unroll
    for (u32 v = 0; v < V; v++) {
        result[v] = 0;
        best[v] = 0;
    }
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) {
        pack_open(T, WIDE, inner, from->e[r]);
#pragma unroll
        for (u32 n = 0; n < SPAN; n++)
            x[n] = n < BEFORE           ? pack_get(T, from->edge[r][n])
                   : n < BEFORE + WIDE ? inner[n - BEFORE]
                                       : pack_get(T, from->edge[r][n - WIDE]);
#pragma unroll
        for (u32 v = 0; v < V; v++) {
            number most = WITH_INDICES ? x[v * STRIDE] : result[v]; // of the row; of all until now
            i32 column = w->column[v * STRIDE];
#pragma unroll
            for (u32 t = 0; t < TAPS2; t++) {
                u32 n = v * STRIDE + t;
                if (!IS_MAX) {
                    bool is_inside = WHOLE || ((w->rows >> r & 1) != 0 && (w->columns >> n & 1) != 0);
                    result[v] += is_inside ? x[n] : (number)0;
                } else {
                    bool wins = (t == 0 && (WITH_INDICES || r == 0)) || is_largest(x[n], most);
                    most = wins ? x[n] : most;
                    column = wins ? w->column[n] : column;
                }
            }
            bool wins = r == 0 || !WITH_INDICES || is_largest(most, result[v]);
            result[v] = IS_MAX && wins ? most : result[v];
            best[v] = wins ? w->number[r] + (u32)column : best[v];
        }
    }
#pragma unroll
    for (u32 v = 0; v < V; v++) {
        result[v] = IS_MAX ? result[v] : average(result[v], WHOLE, w->count[v]);
        chosen[v] = (INDEX)best[v];
    }
    pack_store(T, V, to, 0, result);
    if (WITH_INDICES)
        pack_store(INDEX, V, indices, 0, chosen);
}

kernel block(THREADS) void pool_along(const T *restrict from, T *restrict to,
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
    u32 own[3];
#pragma unroll
    for (u32 d = 0; d < 3; d++)
        own[d] = (u32)index[2 + d];
    window w = window_of(&f, own);
    const T *read = from + nest_place(&n, NEST_RANK, index, FROM);
    T *written = to + nest_place(&n, NEST_RANK, index, TO) * V;
#ifdef HAS_INDICES
    INDEX *chosen = indices + nest_place(&n, NEST_RANK, index, INDICES) * V;
#else
    INDEX *chosen = (INDEX *)0;
#endif
    u64 turn = index[0], step = n.sizes[0];
    for (; turn + (ALL - 1) * step < turns.count; turn += ALL * step) {
        raw r[ALL];
#pragma unroll
        for (u32 k = 0; k < ALL; k++, read += turns.steps[0])
            fetch(&r[k], read, &w);
#pragma unroll
        for (u32 k = 0; k < ALL; k++, written += turns.steps[1] * V, chosen += f.indices_turn * V)
            put(written, chosen, &r[k], &w);
    }
    for (; turn < turns.count && ALL > 1; turn += step) {
        raw r;
        fetch(&r, read, &w);
        put(written, chosen, &r, &w);
        read += turns.steps[0];
        written += turns.steps[1] * V;
        chosen += f.indices_turn * V;
    }
}
