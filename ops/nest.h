// Views of one shape as nested loops: what elementwise kernels and kernels of rows walk over.
//
// Dimensions of one element go. The others are sorted by the strides of the last view, largest
// first, and neighbours that are one dimension in every view become one: dense tensors of any rank
// are a single loop.
#ifndef KILN_NEST_H
#define KILN_NEST_H

#include "ops/op.h"

enum { NEST_VIEWS = 16 }; // as kiln/nest.h

typedef struct op_nest {
    uint32_t rank; // at least 1
    uint32_t view_count;
    uint32_t orderers; // the loops are in the order of the strides of so many views, the first ones
    bool is_of_rows;   // the last loop is a row, and stays one
    uint32_t widest;   // packs are at most that wide; 0: as wide as the views allow
    // The kernel reads a view that stays at one element as an element, so that its type may be
    // wider than 16 bytes allow for a pack.
    bool has_singles;
    uint64_t sizes[KILN_MAX_RANK];
    int64_t strides[NEST_VIEWS][KILN_MAX_RANK]; // in elements
} op_nest;

// How the innermost dimension of a view lies, as kiln/nest.h.
typedef enum op_inner { OP_BROADCAST, OP_DENSE, OP_STRIDED, OP_ROW } op_inner;

// A nest cut into packs of `width` elements along its innermost dimension.
typedef struct op_packs {
    uint32_t rank, width, view_count;
    bool is_long;               // 2^31 packs and more
    bool is_flat;               // op_nest_pack_flat: packs cross the rows
    op_inner inner[NEST_VIEWS]; // OP_STRIDED only where width is 1, or is_flat; OP_ROW: is_flat
    struct {                    // `struct nest` of the kernels
        uint64_t packs, rest;   // full packs; elements of a last one (rank 1 only)
        uint64_t sizes[KILN_MAX_RANK];
        uint32_t magic[KILN_MAX_RANK], shift[KILN_MAX_RANK];
        int64_t strides[NEST_VIEWS][KILN_MAX_RANK];
    } argument;
    uint64_t words[2 + KILN_MAX_RANK * (2 + NEST_VIEWS)]; // op_nest_arg
} op_packs;

// The views have the same sizes; none is empty.
void op_nest_make(const kiln_view *views, uint32_t count, op_nest *out);
// The same with the elements along `axis` as the innermost loop. is_by_first: the first view alone
// says how the rows are numbered, whatever the others are.
void op_nest_rows(const kiln_view *views, uint32_t count, uint32_t axis, bool is_by_first,
                  op_nest *out);
// The loops over the dimensions whose bits are set in `dimensions`; none of those is empty.
void op_nest_some(const kiln_view *views, uint32_t count, uint32_t dimensions, op_nest *out);
// The elements of all loops together.
uint64_t op_nest_count(const op_nest *nest);
// Makes a step of the innermost loop `width` elements; what is left over is dropped.
void op_nest_widen(op_nest *nest, uint32_t width);
// The nest as a kernel's argument: every step of its innermost loop is one, strides are in
// elements.
void op_nest_cut(const op_nest *nest, op_packs *out);
// The loops over the dimensions in `axes` (bit d: dimension d), behind those over the others, of
// which there are `outer`; a row is all that the former run over. Dimensions of `axes` may be
// empty: they count as 1.
void op_nest_reduce(const kiln_view *views, uint32_t count, uint32_t axes, op_nest *out,
                    uint32_t *outer);
// The argument of a kernel that defines NEST_OF: its views, and room for `loops` loops. It lives as
// long as the packs do.
kiln_arg op_nest_arg(op_packs *packs, uint32_t loops);
// The widest packs with which the elements still fill a large GPU, where computing takes longer
// than loading. On the cpu device a thread has an element of a single loop: the elements of a warp
// are a vector then.
uint32_t op_nest_spread(kiln *k, const op_nest *nest);
// The widest packs that all views allow, at most 16 bytes each. Only a nest of one loop that is no
// row has a last pack that is not full.
void op_nest_pack(const op_nest *nest, const kiln_view *views, op_packs *out);
// The same, or packs of all elements in the order of the views from `first_result` on, where those
// are dense and packs can be wider then: is_flat. A pack may then have elements of two rows; the
// views that are OP_DENSE are as dense as the results; sizes and strides are in elements.
void op_nest_pack_flat(const op_nest *nest, const kiln_view *views, uint32_t first_result,
                       op_packs *out);
// Do packs of `width` elements along loop `along` of view v start at multiples of their size, which
// is at most 16 bytes? That the loop is contiguous and of whole packs is for the caller to check.
bool op_nest_is_aligned(const op_nest *nest, const kiln_view *view, uint32_t v, uint32_t along,
                        uint32_t width);
// Division by a number that does not change: x / size is mul_high(x, magic) >> shift for x below
// 2^31 and size above 1.
void op_nest_divide(uint64_t size, uint32_t *magic, uint32_t *shift);

#endif
