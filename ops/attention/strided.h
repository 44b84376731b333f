// Tensors of attention for Hopper that need not be dense (-D STRIDED): [batch][head][row][HD] whose
// rows are contiguous. Without it they are [head][row][HD], dense, and the batch is part of head.
#include <kiln/kernel.h>

typedef struct place { // coordinates of a head in a tensor map
    i32 head, batch;
} place;

#if defined(STRIDED)

typedef struct steps { // how far a coordinate goes from one to the next: 1, or 0 for a broadcast
    u32 head, batch;
} steps;

typedef struct strides { // in elements
    u64 batch, head, row;
} strides;

static place place_of(steps by, u32 head, u32 heads)
{
    u32 batch = head / heads;
    return (place){(i32)((head - batch * heads) * by.head), (i32)(batch * by.batch)};
}

static u64 row_at(strides by, u32 head, u32 heads, u32 row)
{
    u32 batch = head / heads;
    return batch * by.batch + (head - batch * heads) * by.head + row * by.row;
}

typedef u64 pitch_t;
#    define LOAD_ROWS(to, map, column, row, at, full)                                              \
        tensor_load_4d(to, map, column, row, (at).head, (at).batch, full)
// Of tensor `t` in struct `s`, head `head` of `heads`: its coordinates, the element where `row`
// begins, and elements from one row to the next. `length` rows of `width` elements if it is dense.
#    define PLACE(s, t, head, heads)                      place_of((s).t, head, heads)
#    define ROW_AT(s, t, head, heads, row, length, width) row_at((s).t, (u32)(head), heads, row)
#    define PITCH(s, t, width)                            ((s).t.row)

#else

typedef u32 pitch_t;
#    define LOAD_ROWS(to, map, column, row, at, full)                                              \
        tensor_load_3d(to, map, column, row, (at).head, full)
#    define PLACE(s, t, head, heads) ((place){(i32)(head), 0})
#    define ROW_AT(s, t, head, heads, row, length, width)                                          \
        ((u64)((head) * (length) + (row)) * (width))
#    define PITCH(s, t, width) (width)

#endif
