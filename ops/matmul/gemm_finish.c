// What follows the sums of a product that a kernel without these epilogues has made: factors, bias,
// activation, residual, the result's type (gemm_ends.h). A thread has one number; neighbours are in a row.
#include <kiln/kernel.h>

tune(GROUP, 8);
enum { BM = 1, BN = 1 };
#include "gemm_types.h"
#include "gemm_ends.h"

enum { THREADS = 256 };

// at.out is the step from row to row of the sums; `row_step` and `column_step` are the result's.
kernel block(THREADS) void gemm_finish(const acc_t *sums, out_t *out, ENDS_PARAMETERS u32 rows, u32 columns, i64 row_step,
                                       i64 column_step, ends_steps at)
{
    ends e;
    ENDS_GATHER(e);
    if (target_sm() >= 90) {
        next_kernel_launch();
        previous_kernel_wait();
    }
    for (u64 n = (u64)block_x() * THREADS + thread_x(); n < (u64)rows * columns; n += (u64)grid_dim_x() * THREADS) {
        u32 row = (u32)(n / columns), column = (u32)(n % columns);
        f32 sum = (f32)sums[(u64)row * at.out + column], more = residual_at(e, at, row, column);
        f32 x = scaled(sum, ROW_FACTOR(e, at, row), COLUMN_FACTOR(e, at, column), BIAS_OF(e, at, column));
        keep_pre(e, at, row, column, x);
        out[(i64)row * row_step + (i64)column * column_step] = TO_OUT(activated(x) + more);
    }
}
