// kiln/nest.h: views of one shape as nested loops over packs of elements, in kernels. The host
// makes the struct (ops/nest.h). NEST_RANK and NEST_LONG are defined before this is included: how
// many loops there are, and whether indices need 64 bits.
//
// NEST_OF: the number of views. The struct then has room for those and for NEST_LOOPS loops alone:
// every 64 bytes of arguments that a kernel looks at are one more wait before its first load.
#ifndef KILN_KERNEL_NEST_H
#define KILN_KERNEL_NEST_H

#include <kiln/kernel.h>

// How the innermost dimension of a view lies. ROW: as DENSE, but its packs cross the rows.
enum { BROADCAST = 0, DENSE = 1, STRIDED = 2, ROW = 3, NEST_VIEWS = 16 };

#ifndef NEST_OF
#    define NEST_OF    NEST_VIEWS
#    define NEST_LOOPS 8
#elif !defined NEST_LOOPS
#    define NEST_LOOPS NEST_RANK
#endif

struct nest {
    u64 packs, rest;       // full packs; elements of the one that is not
    u64 sizes[NEST_LOOPS]; // outermost first; of the innermost in packs
    u32 magic[NEST_LOOPS],
        shift[NEST_LOOPS]; // x / size is mul_high(x, magic) >> shift for x below 2^31
    i64 strides[NEST_OF]
               [NEST_LOOPS]; // in packs where the innermost dimension is DENSE, else in elements
};

// The index of number `at` in the loops 0 … loops - 1, the last one fastest.
static inline void nest_find(const struct nest *n, u32 loops, u64 at, u64 index[8])
{
#pragma unroll
    for (u32 d = loops - 1; d > 0; d--) {
        u32 quotient = mul_high((u32)at, n->magic[d]) >> n->shift[d];
        u64 rest = NEST_LONG ? at / n->sizes[d] : n->sizes[d] == 1 ? at : (u64)quotient;
        index[d] =
            NEST_LONG ? at - rest * n->sizes[d] : (u64)((u32)at - (u32)rest * (u32)n->sizes[d]);
        at = rest;
    }
    index[0] = at;
}

// Where view k has that index, of the loops 0 … loops - 1.
static inline i64 nest_place(const struct nest *n, u32 loops, const u64 index[8], u32 k)
{
    i64 at = 0;
#pragma unroll
    for (u32 d = 0; d < loops; d++)
        at += (i64)index[d] * n->strides[k][d];
    return at;
}

// How far pack i of the innermost loop is from the first one.
static inline i64 nest_inner(const struct nest *n, u64 i, u32 k, u32 inner)
{
    return inner == BROADCAST ? 0 : inner == DENSE ? (i64)i : (i64)i * n->strides[k][NEST_RANK - 1];
}

#endif
