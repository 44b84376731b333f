// What the kernels with operands in plain memory share (gemm_sm80.c, gemm_portable.c, gemm_f32.c):
// gemm_types.h, groups of rows, and how a pair of results is stored. PAIRS is a tunable of the file that includes this.
#ifndef KILN_GEMM_COMMON_H
#define KILN_GEMM_COMMON_H

#include "gemm_types.h"

// -D GROUPED: rows of A belong to groups, each with a B of its own. ends[g] is the row behind group g;
// tiles do not reach from one group into the next.
typedef struct group {
    u32 index, begin, rows; // rows 0: no group has the tile
    u32 tile;               // of the group's rows
} group;

static group group_of(const i32 *ends, u32 groups, u32 rows, u32 tile)
{
    group g = {.tile = tile};
    for (; g.index < groups; g.index++) {
        u32 end = min((u32)max(ends[g.index], (i32)g.begin), rows), tiles = (end - g.begin + BM - 1) / BM;
        g.rows = end - g.begin;
        if (g.tile < tiles)
            return g;
        g.tile -= tiles;
        g.begin = end;
    }
    g.rows = 0;
    return g;
}

typedef struct result {
    out_t *at;
    const f32 *bias;
    u32 rows, columns;
    u64 stride;
} result;

static void store_pair(result c, u32 row, u32 column, acc_t x, acc_t y)
{
    if (row >= c.rows || column >= c.columns)
        return;
    bool has_next = PAIRS || column + 1 < c.columns;
#if HAS_BIAS
    x = epilogue(x, c.bias[column]);
    if (has_next)
        y = epilogue(y, c.bias[column + 1]);
#endif
    out_t *to = c.at + row * c.stride + column;
#if defined(PACK)
    if (PAIRS) {
        *(u32 *)to = PACK(x, y);
        return;
    }
#endif
    to[0] = TO_OUT(x);
    if (has_next)
        to[1] = TO_OUT(y);
}

#endif
