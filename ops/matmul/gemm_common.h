// What the kernels with operands in plain memory share (gemm_sm80.c, gemm_portable.c, gemm_f32.c):
// gemm_types.h, and how a pair of results is stored. PAIRS is a tunable of the file that includes this.
#ifndef KILN_GEMM_COMMON_H
#define KILN_GEMM_COMMON_H

#include "gemm_types.h"

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
