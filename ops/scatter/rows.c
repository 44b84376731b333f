// Rows of out from the entries that belong to them, in the entries' order: a thread has a pack of a
// row's columns and goes through the row's entries. Nobody else writes there, so that the sums are the
// same bits every time.
#include <kiln/pack.h>

#ifndef T
#    define T f32
#endif
#ifndef V
#    define V 4
#endif
enum { SET, ADD, MUL, MIN, MAX };
#ifndef HOW
#    define HOW ADD
#endif
tune(LOOPS, 1, 2, 3, 4, 5, 6, 7, 8);
tune(AXES, 1, 2, 3, 4, 5, 6, 7, 8);
tune(ZERO, 0, 1);
tune(RANK, 1, 2, 3, 4, 5, 6, 7, 8);
tune(LONG, 0, 1);
#define NEST_RANK RANK
#define NEST_LONG LONG
#include <kiln/nest.h>
PACK(T, V)
enum { SOURCE, OUT, THREADS = 256, AHEAD = 4 };

struct rows { // strides in packs where the columns are packs
    u32 sizes[8]; // of the loops over entries
    i64 source[8];
    u32 axis_sizes[8]; // of the axes of a row's number
    i64 out[8];
    u32 count;
};

static i64 place_of(const struct rows *n, u32 entry)
{
    i64 at = 0;
#pragma unroll
    for (i32 d = (i32)LOOPS - 1; d >= 0; d--) {
        u32 outer = d ? entry / n->sizes[d] : 0;
        at += (i64)(entry - outer * n->sizes[d]) * n->source[d];
        entry = outer;
    }
    return at;
}

static void add(pack_number(T) *sum, const pack_number(T) *x)
{
#pragma unroll
    for (u32 i = 0; i < V; i++)
        sum[i] = HOW == SET   ? x[i]
                 : HOW == ADD ? sum[i] + x[i]
                 : HOW == MUL ? sum[i] * x[i]
                 : HOW == MIN ? min(sum[i], x[i])
                              : max(sum[i], x[i]);
}

kernel block(THREADS) void scatter_rows(const T *restrict source, const u32x2 *restrict spans, const u32 *restrict entries,
                                        T *restrict out, struct nest n, struct rows r)
{
    u64 at = (u64)block_x() * THREADS + thread_x();
    u64 row = LONG ? at / n.packs : (u64)((u32)at / (u32)n.packs), index[8];
    if (row >= r.count)
        return;
    nest_find(&n, RANK, at - row * n.packs, index);
    i64 to = nest_place(&n, RANK, index, OUT), from = nest_place(&n, RANK, index, SOURCE);
    u32 first = spans[row].x, end = spans[row].y, rest = (u32)row;
    if (first == end && !ZERO)
        return;
#pragma unroll
    for (i32 d = (i32)AXES - 1; d >= 0; d--) {
        u32 outer = d ? rest / r.axis_sizes[d] : 0;
        to += (i64)(rest - outer * r.axis_sizes[d]) * r.out[d];
        rest = outer;
    }
    pack_number(T) sum[V], x[AHEAD][V];
#pragma unroll
    for (u32 i = 0; i < V; i++)
        sum[i] = 0;
    if (!ZERO && HOW != SET)
        pack_load(T, V, sum, out, (u64)to);
    if (HOW == SET && first < end)
        first = end - 1; // the last one stays
    for (; end - first >= AHEAD; first += AHEAD) {
#pragma unroll
        for (u32 s = 0; s < AHEAD; s++)
            pack_load(T, V, x[s], source, (u64)(from + place_of(&r, entries[first + s])));
#pragma unroll
        for (u32 s = 0; s < AHEAD; s++)
            add(sum, x[s]);
    }
    for (; first < end; first++) {
        pack_load(T, V, x[0], source, (u64)(from + place_of(&r, entries[first])));
        add(sum, x[0]);
    }
    pack_store(T, V, out, (u64)to, sum);
}
