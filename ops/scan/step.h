// What the scan kernels share: one step of the running value, for each KIND.
#include <kiln/pack.h>

tune(RANK, 1, 2, 3, 4, 5, 6, 7, 8);
tune(PER, 4, 1, 2);
#ifndef T
#    define T   f32
#    define OUT f32
#    define ACC f32
#    define V   4
#    define KIND_sum
#endif
#ifdef LONG
#    define NEST_LONG 1
#else
#    define NEST_LONG 0
#endif
#ifdef IN_PLACE // the result has the place of x
#    define ALONE
#else
#    define ALONE restrict
#endif
#define NEST_RANK RANK
#include <kiln/nest.h>

PACK(T, V)
#ifdef OTHER_OUT // T and OUT differ
PACK(OUT, V)
#endif
typedef ACC acc;
enum { TO, X }; // views of the loops over rows

#if defined KIND_sum
#    define EMPTY ((acc)0)
#elif defined KIND_prod
#    define EMPTY ((acc)1)
#elif defined KIND_max
#    define EMPTY ((acc)pack_lowest(T)) // of the elements: a result may be as narrow
#else
#    define EMPTY ((acc)pack_highest(T))
#endif

// b comes after a. A NaN stays.
static inline acc step(acc a, acc b)
{
#if defined KIND_sum
    return a + b;
#elif defined KIND_prod
    return a * b;
#elif defined KIND_max
    return b > a || b != b ? b : a;
#else
    return b < a || b != b ? b : a;
#endif
}

#define EACH(i, count) _Pragma("unroll") for (u32 i = 0; i < (count); i++)

// The second launch takes the parts from the last one on: those that the first has read last may still be in the cache.
#ifdef CARRY
#    define PART_OF_BLOCK (grid_dim_y() - 1 - block_y())
#else
#    define PART_OF_BLOCK block_y()
#endif

struct row { // elements along the axis
    u64 count, part; // of a row, of a part of it
    i64 x_step, to_step; // between two of them
};
