// Pads, crops, tiles and rolls where the output is dense and its rows are no whole packs: packs
// follow one another through all rows, and may have elements of two. The elements of a pack are read
// one by one, from the input's indices that pad.h says. Indices have 31 bits, and a row is no
// shorter than a pack.
#include <kiln/moved.h>

tune(RANK, 2, 1, 3, 4, 5, 6, 7, 8);
#define NEST_RANK RANK
#define NEST_LONG 0
#include "pad.h"
#include "put.h"
KERNEL_OVERLAPS
enum { THREADS = 256 };

// Where the inputs of an output row begin, without the last axis.
typedef struct row {
    bool is_inside;
    i32 in;
} row;

static inline row row_of(const struct pad_axes *axes, const u64 *index)
{
    row r;
    r.is_inside = true;
    r.in = 0;
#pragma unroll
    for (u32 d = 0; d + 1 < RANK; d++)
        r.in += (i32)pad_source_short(&axes->a[d], index[d], &r.is_inside) * (i32)axes->a[d].stride;
    return r;
}

// Output `column` of the row.
static inline T element_of(const T *from, const struct pad_axes *axes, row r, u32 column, T value)
{
    const struct pad_axis *last = &axes->a[RANK - 1];
    i32 at = r.in + pad_source_short(last, column, &r.is_inside) * (i32)last->stride;
    return r.is_inside ? from[at] : value;
}

// n.packs is the number of elements. The thread behind the last pack has the rest.
kernel block(THREADS) void pad_flat(const T *restrict from, T *restrict to, struct nest n, struct pad_axes axes, T value)
{
    kernel_begin();
    u32 at = global_x(), packs = (u32)n.packs / V;
    u64 index[8];
    if (at > packs)
        return;
    if (at == packs) {
        for (u32 element = at * V; element < (u32)n.packs; element++) {
            nest_find(&n, RANK, element, index);
            to[element] = element_of(from, &axes, row_of(&axes, index), (u32)index[RANK - 1], value);
        }
        return;
    }
    nest_find(&n, RANK, at * V, index);
    u32 column = (u32)index[RANK - 1], own = (u32)n.sizes[RANK - 1] - column; // elements of this row
    row r = row_of(&axes, index), next = r;
    if (own < V) {
        nest_find(&n, RANK, at * V + own, index);
        next = row_of(&axes, index);
    }
    pack all;
#pragma unroll
    for (u32 i = 0; i < V; i++)
        put(&all, i, element_of(from, &axes, i < own ? r : next, i < own ? column + i : i - own, value));
    ((pack *)to)[at] = all;
}
