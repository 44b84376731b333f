// Counts of elements in bins. Every block counts in shared memory, each warp in a copy of its own where there is room, and adds
// what it has counted to the result at the end. Counts are integers: the order in which they are added does not matter.
#include <kiln/pack.h>

tune(RANK, 1, 2, 3, 4, 5, 6, 7, 8);
tune(GAPS, 0, 1); // neighbours are not neighbours in memory
tune(COPIES, 8, 0, 1);
#ifndef T
#    define T   f32
#    define OUT i64
#    define V   4
#    define RANGE
#endif
#ifdef LONG
#    define NEST_LONG 1
#else
#    define NEST_LONG 0
#endif
#ifdef WIDE
typedef f64 real;
#else
typedef f32 real;
#endif
#define NEST_RANK RANK
#include <kiln/nest.h>

PACK(T, V)

enum { THREADS = 256, PER = 4, MOST = COPIES == 8 ? 1024 : COPIES == 1 ? 8192 : 1 }; // bins in shared memory

struct bins {
    u64 count;
    i64 step; // between two of the result
    real low, high, scale; // scale: bins for each unit
};

#define EACH(i, count) _Pragma("unroll") for (u32 i = 0; i < (count); i++)

// The bin of an element; b->count and above: none.
static inline u64 bin_of(pack_number(T) x, const struct bins *b)
{
#ifdef RANGE
    real at = (real)x;
    if (!(at >= b->low && at <= b->high))
        return b->count;
    return min((u64)((at - b->low) * b->scale), b->count - 1);
#else
    return (u64)x; // negative ones are above all bins
#endif
}

static inline void count_one(pack_number(T) x, const struct bins *b, u32 (*counts)[MOST], OUT *to)
{
    u64 bin = bin_of(x, b);
    if (bin < b->count) {
        if (COPIES > 0)
            atomic_add(&counts[COPIES == 8 ? warp() : 0][bin], 1u);
        else
            atomic_add(&to[(i64)bin * b->step], (OUT)1);
    }
}

kernel block(THREADS) void histogram(const T *restrict x, OUT *restrict to, struct nest n, struct bins b)
{
#ifdef ZERO
    u64 bin = (u64)block_x() * THREADS + thread_x();
    if (bin < b.count)
        to[(i64)bin * b.step] = 0;
#else
    shared u32 counts[COPIES > 0 ? COPIES : 1][MOST];
    u64 all = (u64)grid_dim_x() * THREADS, at = (u64)block_x() * THREADS + thread_x(), index[8];
    pack_number(T) v[PER][V];
    if (COPIES > 0)
        for (u32 i = thread_x(); i < COPIES * (u32)b.count; i += THREADS)
            counts[i / (u32)b.count][i % (u32)b.count] = 0;
    barrier();
    for (; at < n.packs; at += PER * all) {
        EACH(p, PER)
            if (at + p * all < n.packs) {
                nest_find(&n, RANK, at + p * all, index);
                i64 place = nest_place(&n, RANK - 1, index, 0) + nest_inner(&n, index[RANK - 1], 0, GAPS ? STRIDED : DENSE);
                if (GAPS)
                    v[p][0] = pack_get(T, x[place]);
                else
                    pack_load(T, V, v[p], x, (u64)place);
            }
        EACH(p, PER)
            if (at + p * all < n.packs)
                EACH(i, V)
                    count_one(v[p][i], &b, counts, to);
    }
    if (block_x() == 0 && thread_x() < n.rest) // less than a pack
        count_one(pack_get(T, x[n.packs * V + thread_x()]), &b, counts, to);
    barrier();
    if (COPIES > 0)
        for (u32 bin = thread_x(); bin < (u32)b.count; bin += THREADS) {
            u32 sum = 0;
            EACH(c, COPIES > 0 ? COPIES : 1)
                sum += counts[c][bin];
            if (sum > 0)
                atomic_add(&to[(i64)bin * b.step], (OUT)sum);
        }
#endif
}
