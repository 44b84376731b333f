// Fused expressions with a reduction. The first OUTER of the loops run over results, the others
// over what is reduced: LANES threads have a result, and walk over packs of V elements. What is
// computed is written by the host, as for ops/elementwise/kernel.c:
//     OPERANDS  OPERAND(in0, 0, f32, DENSE) …
//     NODES     const f32 v3 = in0 * in1; …
//     RESULTS   RESULT(out0, 2, f32, DENSE, v3) …: outputs that are not reduced
//     SUMS      SUM(out1, 3, f32, f32, ADD, v3) …: name, view, type, type of the sum, how, value
//
// Blocks with the same block_x share a result: each has `chunk` packs, and stores its part `rows`
// elements behind that of the one before.
#include <kiln/activate.h>
#include <kiln/pack.h>

tune(LANES, 256, 1, 32);
tune(OUTER, 1, 0, 2, 3, 4, 5, 6, 7);
tune(RANK, 2, 1, 3, 4, 5, 6, 7, 8);
tune(LONG, 0, 1); // 2^31 packs and more: indices of 64 bits
enum { THREADS = 256 };
#define NEST_RANK RANK
#define NEST_LONG LONG
#include <kiln/nest.h>
KERNEL_OVERLAPS
#ifndef OPERANDS
#    define V        4
#    define PACKS    PACK(f32, 4)
#    define OPERANDS OPERAND(in0, 0, f32, DENSE)
#    define NODES    const f32 v2 = in0 * in0;
#    define RESULTS
#    define SUMS     SUM(out0, 1, f32, f32, ADD, v2)
#endif
#ifndef PARAMETERS
#    define PARAMETERS
#endif
#ifdef IN_PLACE // a result has the place of an operand
#    define ALONE
#else
#    define ALONE restrict
#endif

PACKS

#define FOR_ELEMENTS(i) _Pragma("unroll") for (u32 i = 0; i < V; i++)

// Reductions: where they begin, how a value and how the threads of a row are joined, and the end.
#define BEGIN_ADD(A)      ((A)0)
#define JOIN_ADD(x, y)    ((x) + (y))
#define ACROSS_ADD(x)     (LANES == 1 ? (x) : LANES == 32 ? warp_sum(x) : block_sum(x))
#define END_ADD(A, x)   (x)
#define BEGIN_MEAN(A)     ((A)0)
#define JOIN_MEAN(x, y)   ((x) + (y))
#define ACROSS_MEAN(x)    ACROSS_ADD(x)
#define END_MEAN(A, x)  ((x) / (A)count)
#define BEGIN_MAX(A)      LEAST_##A
#define JOIN_MAX(x, y)    max(x, y)
#define ACROSS_MAX(x)     (LANES == 1 ? (x) : LANES == 32 ? warp_max(x) : block_max(x))
#define END_MAX(A, x)   (x)
#define BEGIN_MIN(A)      MOST_##A
#define JOIN_MIN(x, y)    min(x, y)
#define ACROSS_MIN(x)     (LANES == 1 ? (x) : LANES == 32 ? warp_min(x) : block_min(x))
#define END_MIN(A, x)   (x)
#define LEAST_f32         (-INFINITY)
#define LEAST_f64         ((f64)-INFINITY)
#define LEAST_i32         ((i32)0x80000000u)
#define LEAST_u32         0u
#define LEAST_i64         ((i64)0x8000000000000000u)
#define LEAST_u64         ((u64)0)
#define MOST_f32          INFINITY
#define MOST_f64          ((f64)INFINITY)
#define MOST_i32          0x7fffffff
#define MOST_u32          0xffffffffu
#define MOST_i64          ((i64)0x7fffffffffffffff)
#define MOST_u64          ((u64)0xffffffffffffffff)

// The index of number `at` in the loops from … to - 1, the last one fastest.
static inline void find(const struct nest *n, u32 from, u32 to, u64 at, u64 index[8])
{
#pragma unroll
    for (u32 d = to - 1; d > from; d--) {
        u32 quotient = mul_high((u32)at, n->magic[d]) >> n->shift[d];
        u64 rest = LONG ? at / n->sizes[d] : n->sizes[d] == 1 ? at : (u64)quotient;
        index[d] = LONG ? at - rest * n->sizes[d] : (u64)((u32)at - (u32)rest * (u32)n->sizes[d]);
        at = rest;
    }
    index[from] = at;
}

// Where view k has that index.
static inline i64 place(const struct nest *n, const u64 index[8], u32 k, u32 inner)
{
    return nest_place(n, RANK - 1, index, k) + nest_inner(n, index[RANK - 1], k, inner);
}

#define OPERAND(x, k, T, inner)       const T *ALONE x##_from,
#define RESULT(x, k, T, inner, value) T *ALONE x##_to,
#define SUM(x, k, T, A, how, value)   T *ALONE x##_to,
kernel block(THREADS) void fuse_reduce(OPERANDS RESULTS SUMS struct nest n, u64 rows, u64 packs,
                                       u64 chunk, u64 count PARAMETERS)
{
    kernel_begin();
#undef OPERAND
#undef RESULT
#undef SUM
    u64 row = LANES == THREADS
                  ? block_x()
                  : (u64)block_x() * (THREADS / LANES) + (LANES == 1 ? thread_x() : warp());
    u32 own = LANES == 1 ? 0 : LANES == 32 ? lane() : thread_x();
    u64 first = block_y() * chunk, end = min(first + chunk, packs), index[8];
    if (LANES != THREADS && row >= rows)
        return;
    if (OUTER)
        find(&n, 0, OUTER, row, index);
#define SUM(x, k, T, A, how, value) A x##_sum = BEGIN_##how(A);
    SUMS
#undef SUM
#if V == 1 // columns, mostly: several loads at once
#    pragma unroll 4
#endif
    for (u64 at = first + own; at < end; at += LANES) {
        find(&n, OUTER, RANK, at, index);
#define OPERAND(x, k, T, inner)                                                                    \
    pack_number(T) x##_all[V];                                                                     \
    if (inner == DENSE) {                                                                          \
        pack_load(T, V, x##_all, x##_from, (u64)place(&n, index, k, inner));                       \
    } else {                                                                                       \
        FOR_ELEMENTS(i)                                                                            \
        x##_all[i] = pack_get(T, x##_from[place(&n, index, k, inner)]);                            \
    }
        OPERANDS
#undef OPERAND
#define RESULT(x, k, T, inner, value) pack_number(T) x##_all[V];
        RESULTS
#undef RESULT
#define SUM(x, k, T, A, how, value) A x##_part = BEGIN_##how(A);
        SUMS
#undef SUM
#define OPERAND(x, k, T, inner)       pack_number(T) x = x##_all[i];
#define RESULT(x, k, T, inner, value) x##_all[i] = pack_convert(T, value);
#define SUM(x, k, T, A, how, value)   x##_part = JOIN_##how(x##_part, value);
        FOR_ELEMENTS(i) { OPERANDS NODES RESULTS SUMS }
#undef OPERAND
#undef RESULT
#undef SUM
#define RESULT(x, k, T, inner, value)                                                              \
    if (inner == DENSE) {                                                                          \
        pack_store(T, V, x##_to, (u64)place(&n, index, k, inner), x##_all);                        \
    } else {                                                                                       \
        FOR_ELEMENTS(i)                                                                            \
        x##_to[place(&n, index, k, inner)] = pack_put(T, x##_all[i]);                              \
    }
        RESULTS
#undef RESULT
#define SUM(x, k, T, A, how, value) x##_sum = JOIN_##how(x##_sum, x##_part);
        SUMS
#undef SUM
    }
#define SUM(x, k, T, A, how, value)                                                                \
    x##_sum = ACROSS_##how(x##_sum);                                                               \
    if (own == 0)                                                                                  \
        x##_to[nest_place(&n, OUTER, index, k) + (i64)(block_y() * rows)] =                        \
            pack_put(T, pack_convert(T, END_##how(A, x##_sum)));
    SUMS
#undef SUM
}
