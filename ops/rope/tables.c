// Cosines and sines for rotary embeddings: of the angle position * base to the -2 i / dims, for pair i.
// Positions are read, or are the index along the dimension before the last.
#include <kiln/pack.h>

#ifndef T
#    define T f32
#endif
#ifdef INDEX
#    define HAS_POSITIONS 1
#else
#    define HAS_POSITIONS 0
#    define INDEX         i32
#endif
tune(RANK, 2, 1, 3, 4, 5, 6, 7, 8);
tune(LONG, 0, 1);
#define NEST_RANK RANK
#define NEST_LONG LONG
#include <kiln/nest.h>
KERNEL_OVERLAPS
enum { POSITION, PAIR, COS, SIN, THREADS = 256 };

kernel block(THREADS) void rope_tables(const INDEX *restrict positions, T *restrict cos_to, T *restrict sin_to, struct nest n,
                                       f64 offset, f64 scale, f64 base, f64 dims)
{
    kernel_begin();
    u64 at = (u64)block_x() * THREADS + thread_x(), index[8];
    if (at >= n.packs)
        return;
    nest_find(&n, RANK, at, index);
    i64 place = nest_place(&n, RANK, index, POSITION);
    f64 position = (HAS_POSITIONS ? (f64)positions[place] : (f64)place) + offset;
    f64 angle = position * scale * pow(base, (f64)nest_place(&n, RANK, index, PAIR) * -2.0 / dims);
    cos_to[nest_place(&n, RANK, index, COS)] = pack_put(T, cos(angle));
    sin_to[nest_place(&n, RANK, index, SIN)] = pack_put(T, sin(angle));
}
