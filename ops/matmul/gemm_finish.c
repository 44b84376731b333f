// What follows the sums of a product that a kernel without these epilogues has made: factors, bias,
// activation, residual, the result's type (gemm_ends.h). A thread has one number; neighbours are in a row.
// -D GROUPED: rows belong to groups; ends[g] is the row behind group g, and rows behind the last are left alone.
#include <kiln/kernel.h>

tune(GROUP, 8);
enum { BM = 1, BN = 1 };
#include "gemm_types.h"
#include "gemm_ends.h"

enum { THREADS = 256 };

#if defined(GROUPED)
#define GROUP_PARAMETERS const i32 *group_ends, u32 groups,
static u32 group_of(const i32 *group_ends, u32 groups, u32 row)
{
    u32 g = 0;
    while (g < groups && (i64)row >= (i64)group_ends[g])
        g++;
    return g;
}
#else
#define GROUP_PARAMETERS
#endif

// at.out is the step from row to row of the sums; `row_step` and `column_step` are the result's.
kernel block(THREADS) void gemm_finish(const acc_t *sums, out_t *out, ENDS_PARAMETERS GROUP_PARAMETERS u32 rows, u32 columns, i64 row_step,
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
#if defined(GROUPED)
        u32 group = group_of(group_ends, groups, row);
        if (group == groups)
            continue;
#endif
        f32 sum = (f32)sums[(u64)row * at.out + column], more = residual_at(e, at, row, column);
        f32 x = scaled(sum, ROW_FACTOR(e, at, row), COLUMN_FACTOR(e, at, group, column), BIAS_OF(e, at, column));
        keep_pre(e, at, row, column, x);
        out[(i64)row * row_step + (i64)column * column_step] = TO_OUT(activated(x) + more);
    }
}
