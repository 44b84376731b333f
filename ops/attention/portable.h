// What attention forward and backward for any device share: elements, tensors with strides, and the
// columns of a row that a lane has.
#include <kiln/kernel.h>

#include "mask.h"
#include "sizes.h"

#if !defined(HD)
#    define HD 128
#endif
tune(CAUSAL, 0, 1);
tune(UNIT, 1, 0); // the columns of all tensors are next to each other

#if defined(TYPE_f32)
typedef f32 elem_t;
#    define ROUND
#elif defined(TYPE_f16)
typedef f16 elem_t;
#    define ROUND to_f16
#else
typedef bf16 elem_t;
#    define ROUND to_bf16
#endif

// -D CACHE_f8e4 or CACHE_f8e5: K and V of the forward kernel are of that type.
#if defined(CACHE_f8e4)
typedef f8e4 cache_t;
#    define HAS_CACHE
#elif defined(CACHE_f8e5)
typedef f8e5 cache_t;
#    define HAS_CACHE
#else
typedef elem_t cache_t;
#endif

enum { WARPS = PORTABLE_WARPS, COLUMNS = (HD + 31) / 32 }; // columns of a lane: lane(), lane() + 32 …

typedef struct strides { // of a tensor [batch][head][row][column], in elements
    i64 batch, head, row, column;
} strides;

typedef struct shape {
    u32 batch, heads, kv_heads, queries, keys;
    f32 scale;
    u32 pages, page_size, table; // with PAGED: how many there are, their keys, page numbers of a batch
} shape;

typedef struct row { // of a tensor
    u32 batch, head, index;
} row;

// Row number n of tensors [batch][heads][rows].
static row row_of(u32 n, u32 heads, u32 rows)
{
    u32 head = n / rows, batch = head / heads;
    return (row){batch, head - batch * heads, n - head * rows};
}

static i64 row_at(strides by, row r)
{
    return r.batch * by.batch + r.head * by.head + r.index * by.row;
}

static i64 column_at(strides by, u32 column)
{
    return UNIT ? (i64)column : column * by.column;
}

static f32 dot(const elem_t *a, strides by_a, const cache_t *b, strides by_b)
{
    f32 sum = 0.0f;
    for (u32 i = 0; i < HD; i++)
        sum = fma(f32(a[column_at(by_a, i)]), f32(b[column_at(by_b, i)]), sum);
    return sum;
}

static void add_row(f32 (*acc)[COLUMNS], f32 weight, const cache_t *from, strides by)
{
#pragma unroll
    for (u32 c = 0; c < COLUMNS; c++)
        if (c * 32 + lane() < HD)
            (*acc)[c] = fma(weight, f32(from[column_at(by, c * 32 + lane())]), (*acc)[c]);
}

static void store_row(elem_t *to, strides by, f32 (*acc)[COLUMNS], f32 factor)
{
#pragma unroll
    for (u32 c = 0; c < COLUMNS; c++)
        if (c * 32 + lane() < HD)
            to[column_at(by, c * 32 + lane())] = ROUND((*acc)[c] * factor);
}
