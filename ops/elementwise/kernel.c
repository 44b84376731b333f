// Elementwise ops: for every index of a shape, results from operands. The host writes what they are
// (ops/map.c):
//     OPERANDS  OPERAND(a, 0, f32, DENSE) …
//               name, number of the view, type, how its innermost dimension lies
//     RESULTS   RESULT(r0, 1, f32, DENSE, a + b) …
//               and the value: an expression over the operands and the parameters p and q
//     PACKS     PACK(f32, 4) …, of all those types
//     NODES     const f32 v = a * b; … what the values have in common; may be missing
//     PARAMETERS  ", f32 p, f32 q": the last arguments
//
// A thread has PER packs of V elements along the innermost dimension, and loads all of them before
// it uses the first. Dimensions that are dense in all views are one by now: RANK 1 needs no index
// arithmetic. FLAT is for rows that are no whole packs: views that are DENSE then are so as a whole,
// the others are read element by element, with ROW those of a row from one address on.
#include <kiln/activate.h>
#include <kiln/pack.h>

tune(PER, 1, 2, 4);
tune(RANK, 1, 2, 3, 4, 5, 6, 7, 8);
tune(LONG, 0, 1); // 2^31 packs and more: indices of 64 bits
tune(TAIL, 0, 1); // there is a last pack that is not full; RANK 1 or FLAT
tune(FLAT, 0, 1); // packs follow one another through all rows, and may have elements of two
enum { THREADS = 256 };
#define NEST_RANK RANK
#define NEST_LONG LONG
#include <kiln/nest.h>
KERNEL_OVERLAPS
#ifndef OPERANDS
#    define V        4
#    define NUMBER   f32
#    define PACKS    PACK(f32, 4)
#    define OPERANDS OPERAND(a, 0, f32, DENSE) OPERAND(b, 1, f32, DENSE)
#    define RESULTS  RESULT(out, 2, f32, DENSE, a + b)
#endif
#ifndef PARAMETERS
#    define PARAMETERS , NUMBER p, NUMBER q
#endif
#ifndef NODES
#    define NODES
#endif
#ifdef IN_PLACE // a result has the place of an operand
#    define ALONE
#else
#    define ALONE restrict
#endif
#define R(x) ((NUMBER)(x)) // a literal in the type of the numbers

PACKS

// Where view k has the pack with that index.
static i64 place(const struct nest *n, const u64 index[8], u32 k, u32 inner)
{
    return nest_place(n, RANK - 1, index, k) + nest_inner(n, index[RANK - 1], k, inner);
}

#define FOR_PACKS(s)                                                                               \
    _Pragma("unroll") for (u32 s = 0; s < PER; s++) if (first + s * THREADS < n.packs)
#define FOR_ELEMENTS(i) _Pragma("unroll") for (u32 i = 0; i < V; i++)

#define OPERAND(x, k, T, inner)       const T *ALONE x##_from,
#define RESULT(x, k, T, inner, value) T *ALONE x##_to,
kernel block(THREADS) void elementwise(OPERANDS RESULTS struct nest n PARAMETERS)
{
    kernel_launch_next();
#undef OPERAND
#undef RESULT
    u64 first = LONG ? (u64)block_x() * (THREADS * PER) + thread_x()
                     : (u64)(block_x() * (u32)(THREADS * PER) + thread_x());
    u64 at[PER][8], next[8];
#define OPERAND(x, k, T, inner) pack_number(T) x##_all[PER][V];
    OPERANDS
#undef OPERAND
#define PACK_PLACE(s, k) (FLAT ? first + s * THREADS : (u64)place(&n, at[s], k, DENSE))
#define OPERAND(x, k, T, inner)                                                                    \
    if (inner == DENSE) {                                                                          \
        pack_load(T, V, x##_all[s], x##_from, PACK_PLACE(s, k));                                   \
    } else if (FLAT) {                                                                             \
        i64 step = inner == BROADCAST ? 0 : inner == ROW ? 1 : n.strides[k][RANK - 1];             \
        i64 here = nest_place(&n, RANK - 1, at[s], k) + (i64)at[s][RANK - 1] * step;               \
        if (own >= V) {                                                                            \
            FOR_ELEMENTS(i)                                                                        \
            x##_all[s][i] = pack_get(T, x##_from[here + (i64)i * step]);                           \
        } else {                                                                                   \
            nest_find(&n, RANK, element + own, next);                                              \
            i64 there = nest_place(&n, RANK - 1, next, k) - (i64)own * step;                       \
            FOR_ELEMENTS(i)                                                                        \
            x##_all[s][i] = pack_get(T, x##_from[(i < own ? here : there) + (i64)i * step]);       \
        }                                                                                          \
    } else {                                                                                       \
        FOR_ELEMENTS(i)                                                                            \
        x##_all[s][i] = pack_get(T, x##_from[place(&n, at[s], k, inner)]);                         \
    }
    _Pragma("unroll") for (u32 s = 0; s < PER; s++)
        nest_find(&n, RANK, (first + s * THREADS) * (FLAT ? V : 1), at[s]);
    kernel_wait_previous();
    FOR_PACKS(s)
    {
        u64 element = (first + s * THREADS) * (FLAT ? V : 1);
        u32 own = FLAT ? (u32)(n.sizes[RANK - 1] - at[s][RANK - 1]) : 0; // elements of this row
        OPERANDS
    }
#undef OPERAND
    FOR_PACKS(s)
    {
#define RESULT(x, k, T, inner, value) pack_number(T) x##_all[V];
        RESULTS
#undef RESULT
#define OPERAND(x, k, T, inner)       pack_number(T) x = x##_all[s][i];
#define RESULT(x, k, T, inner, value) x##_all[i] = pack_convert(T, value);
        FOR_ELEMENTS(i){OPERANDS NODES RESULTS}
#undef OPERAND
#undef RESULT
#define RESULT(x, k, T, inner, value)                                                              \
    if (inner == DENSE) {                                                                          \
        pack_store(T, V, x##_to, PACK_PLACE(s, k), x##_all);                                       \
    } else {                                                                                       \
        FOR_ELEMENTS(i)                                                                            \
        x##_to[place(&n, at[s], k, inner)] = pack_put(T, x##_all[i]);                              \
    }
        RESULTS
#undef RESULT
    }
    bool is_last = false;
    _Pragma("unroll") for (u32 s = 0; s < PER; s++) is_last |= first + s * THREADS == n.packs;
    if (TAIL && is_last) {
#define OPERAND(x, k, T, inner)                                                                    \
    pack_number(T) x = pack_get(T, x##_from[inner == DENSE ? (i64)(n.packs * V + i)                 \
                                            : FLAT         ? place(&n, next, k, inner)             \
                                                           : 0]);
#define RESULT(x, k, T, inner, value)                                                              \
    x##_to[n.packs * V + i] = pack_put(T, pack_convert(T, value));
        for (u32 i = 0; i < n.rest; i++) {
            if (FLAT)
                nest_find(&n, RANK, n.packs * V + i, next);
            OPERANDS
            NODES
            RESULTS
        }
    }
}
