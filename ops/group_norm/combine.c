// Mean and scale = 1 / sqrt(variance + eps) of each group from those of its planes; with RUNNING the
// running statistics take their share, with EVAL they are used instead. A warp has a group.
#include <kiln/rows.h>
KERNEL_OVERLAPS

#ifdef RUNNING
#    define HAS_RUNNING 1
#else
#    define HAS_RUNNING 0
#endif
#ifdef EVAL
#    define IS_EVAL 1
#else
#    define IS_EVAL 0
#endif

struct combine { // plane k of group g is g * first + k / inner * outer + k % inner
    u64 groups, planes, inner, outer, first;
    f32 columns, eps, momentum;
    i64 running_mean_step, running_variance_step, mean_step, scale_step;
};

kernel block(256) void combine(const f32 *restrict part, f32 *restrict mean_of, f32 *restrict scale_of,
                               f32 *restrict running_mean, f32 *restrict running_variance, struct combine c)
{
    kernel_begin();
    u64 group = (u64)block_x() * 8 + warp();
    if (group >= c.groups)
        return;
    f32 mean = 0, squares = 0, planes = (f32)c.planes, count = planes * c.columns;
    if (!IS_EVAL) {
        for (u64 k = lane(); k < c.planes; k += 32)
            mean += part[2 * (group * c.first + k / c.inner * c.outer + k % c.inner)];
        mean = warp_sum(mean) / planes;
        for (u64 k = lane(); k < c.planes; k += 32) {
            u64 at = 2 * (group * c.first + k / c.inner * c.outer + k % c.inner);
            f32 away = part[at] - mean;
            squares += part[at + 1] + c.columns * (away * away);
        }
        squares = warp_sum(squares);
    }
    if (lane() == 0) {
        i64 at_mean = (i64)group * c.running_mean_step, at_variance = (i64)group * c.running_variance_step;
        if (HAS_RUNNING) {
            f32 variance = squares / max(count - 1.0f, 1.0f);
            running_mean[at_mean] = running_mean[at_mean] * (1.0f - c.momentum) + mean * c.momentum;
            running_variance[at_variance] = running_variance[at_variance] * (1.0f - c.momentum) + variance * c.momentum;
        }
        mean_of[(i64)group * c.mean_step] = IS_EVAL ? running_mean[at_mean] : mean;
        scale_of[(i64)group * c.scale_step] = rsqrt((IS_EVAL ? running_variance[at_variance] : squares / count) + c.eps);
    }
}
