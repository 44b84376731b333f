// Tensors from the indices of their elements, and maybe an operand: the host defines WHAT, the value
// of an element (generate.def).
#include <kiln/pack.h>

#ifndef T
#    define T f32
#endif
#ifdef A // the operand has another type
#    define HAS_OTHER 1
#else
#    define HAS_OTHER 0
#    define A         T
#endif
#ifdef SAME // the operand has the result's type
#    define HAS_SAME 1
#else
#    define HAS_SAME 0
#endif
#ifndef V
#    define V 4
#endif
#ifndef WHAT
#    define WHAT p + q * (R)i
#endif
#ifndef A_INNER
#    define A_INNER DENSE
#    define I_INNER DENSE
#    define J_INNER DENSE
#endif
#ifdef IN_PLACE
#    define ALONE
#else
#    define ALONE restrict
#endif
tune(RANK, 1, 2, 3, 4, 5, 6, 7, 8);
tune(LONG, 0, 1);
tune(PER, 1, 4); // packs of a thread; above 1: of a single loop without an operand
#define NEST_RANK RANK
#define NEST_LONG LONG
#include <kiln/nest.h>
KERNEL_OVERLAPS

#define IS_FLOAT_f16   1
#define IS_FLOAT_bf16  1
#define IS_FLOAT_f32   1
#define IS_FLOAT_f64   1
#define IS_FLOAT__Bool 0
#define IS_FLOAT_i8    0
#define IS_FLOAT_u8    0
#define IS_FLOAT_i16   0
#define IS_FLOAT_u16   0
#define IS_FLOAT_i32   0
#define IS_FLOAT_u32   0
#define IS_FLOAT_i64   0
#define IS_FLOAT_u64   0
#if PACK_JOIN(IS_FLOAT_, T)
#    define R f64
#else
#    define R i64
#endif

PACK(T, V)
enum { OPERAND, I, J, OUT, THREADS = 256 };

static i64 index_of(i64 place, u32 e, u32 inner)
{
    return inner == DENSE ? place * V + e : place;
}

// The pack with number `at`.
static inline void make(const A *ALONE from, T *ALONE to, const struct nest *n, R p, R q, i64 k, u64 at)
{
    u64 index[8];
    nest_find(n, RANK, at, index);
    pack_number(T) v[V];
    i64 i_place = nest_place(n, RANK, index, I), j_place = nest_place(n, RANK, index, J);
    i64 a_place = nest_place(n, RANK, index, OPERAND);
    pack_number(A) all[V];
#pragma unroll
    for (u32 e = 0; e < V; e++)
        all[e] = HAS_OTHER ? pack_get(A, from[index_of(a_place, e, A_INNER)]) : (pack_number(A))0;
    if (HAS_SAME && A_INNER == DENSE)
        pack_load(T, V, (pack_number(T) *)all, (const T *)from, (u64)a_place);
    else if (HAS_SAME)
#pragma unroll
        for (u32 e = 0; e < V; e++)
            all[e] = pack_get(A, from[a_place]);
#pragma unroll
    for (u32 e = 0; e < V; e++) {
        i64 i = index_of(i_place, e, I_INNER), j = index_of(j_place, e, J_INNER);
        pack_number(A) a = all[e];
        v[e] = pack_convert(T, WHAT);
    }
    pack_store(T, V, to, (u64)nest_place(n, RANK, index, OUT), v);
}

kernel block(THREADS) void generate(const A *ALONE from, T *ALONE to, struct nest n, R p, R q, i64 k)
{
    kernel_begin();
    u64 first = LONG ? (u64)block_x() * (THREADS * PER) + thread_x()
                     : (u64)(block_x() * (u32)(THREADS * PER) + thread_x());
#pragma unroll
    for (u32 s = 0; s < PER; s++)
        if (first + s * THREADS < n.packs)
            make(from, to, &n, p, q, k, first + s * THREADS);
}
