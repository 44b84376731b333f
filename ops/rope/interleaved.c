// Pairs of neighbours turned by an angle: the numbers of a pair are side by side, so that packs of
// them are loaded and stored. The same products and sums as in the map of rope.c, to which other
// layouts go. A thread takes several steps of the outermost loop; where the tables have none, it
// loads them once.
#include <kiln/pack.h>

#ifndef T
#    define T     f32 // of x
#    define TABLE f32 // of the tables
#    define V     2   // pairs of a pack
#    define BOTH  4   // numbers of a pack
#endif
#ifdef IN_PLACE
#    define ALONE
#else
#    define ALONE restrict
#endif
tune(RANK, 4, 1, 2, 3, 5, 6, 7, 8);
tune(LONG, 0, 1);
tune(SAME_TABLES, 0, 1); // the outermost loop has one place of the tables
#define NEST_RANK RANK
#define NEST_LONG LONG
#define NEST_OF   4
#include <kiln/nest.h>
#include <kiln/turns.h>
KERNEL_OVERLAPS
PACK(T, BOTH)
PACK(TABLE, V)
#define N pack_number(T)
enum { X, COS, SIN, OUT, THREADS = 256, PER = 4 };

struct tables { // from one of a thread's steps to the next, as nest_turns.steps
    i64 cos, sin;
};

typedef struct angles {
    pack_raw(TABLE, V) c, s;
} angles;

static inline angles angles_of(const TABLE *cos, const TABLE *sin)
{
    return (angles){pack_fetch(TABLE, V, cos, 0), pack_fetch(TABLE, V, sin, 0)};
}

static inline void put(T *to, pack_raw(T, BOTH) from, const angles *turned)
{
    N x[BOTH], c[V], s[V];
    pack_open(T, BOTH, x, from);
    pack_open(TABLE, V, c, turned->c);
    pack_open(TABLE, V, s, turned->s);
#pragma unroll
    for (u32 i = 0; i < V; i++) {
        N a = x[2 * i], b = x[2 * i + 1];
#ifdef BACKWARD
        x[2 * i] = a * c[i] + b * s[i];
        x[2 * i + 1] = b * c[i] - a * s[i];
#else
        x[2 * i] = a * c[i] - b * s[i];
        x[2 * i + 1] = a * s[i] + b * c[i];
#endif
    }
    pack_store(T, BOTH, to, 0, x);
}

kernel block(THREADS) void rope_interleaved(const T *ALONE x, const TABLE *ALONE cos, const TABLE *ALONE sin, T *ALONE out,
                                            struct nest n, struct nest_turns turns, struct tables next)
{
    kernel_begin();
    u64 at = (u64)block_x() * THREADS + thread_x(), index[8];
    if (at >= n.packs)
        return;
    nest_find(&n, RANK, at, index);
    const T *read = x + nest_place(&n, RANK, index, X);
    T *written = out + nest_place(&n, RANK, index, OUT);
    const TABLE *c = cos + nest_place(&n, RANK, index, COS), *s = sin + nest_place(&n, RANK, index, SIN);
    angles own;
    if (SAME_TABLES)
        own = angles_of(c, s);
    u64 turn = index[0], step = n.sizes[0];
    for (; turn + (PER - 1) * step < turns.count; turn += PER * step) {
        pack_raw(T, BOTH) all[PER];
        angles each[SAME_TABLES ? 1 : PER];
#pragma unroll
        for (u32 k = 0; k < PER; k++, read += turns.steps[0]) {
            all[k] = pack_fetch(T, BOTH, read, 0);
            if (!SAME_TABLES) {
                each[k] = angles_of(c, s);
                c += next.cos;
                s += next.sin;
            }
        }
#pragma unroll
        for (u32 k = 0; k < PER; k++, written += turns.steps[1])
            put(written, all[k], SAME_TABLES ? &own : &each[SAME_TABLES ? 0 : k]);
    }
    for (; turn < turns.count; turn += step) {
        angles each = SAME_TABLES ? own : angles_of(c, s);
        put(written, pack_fetch(T, BOTH, read, 0), &each);
        read += turns.steps[0];
        written += turns.steps[1];
        c += next.cos;
        s += next.sin;
    }
}
