// Mean and scale = 1 / sqrt(variance + eps) of each group from those of its planes; with RUNNING the
// running statistics take their share. A warp has a group.
#include <kiln/rows.h>
KERNEL_OVERLAPS

#ifdef RUNNING
#    define HAS_RUNNING 1
#else
#    define HAS_RUNNING 0
#endif

struct combine { // plane k of group g is g * first + k / inner * outer + k % inner
    u64 groups, planes, inner, outer, first;
    f32 columns, eps, momentum;
    i64 running_mean_step, running_variance_step, mean_step, scale_step;
};

// Where the part of plane k is. Divisions of 64 bits are slow.
static inline u64 place(const struct combine *c, u64 group, u64 k)
{
    bool is_short = c->planes >> 32 == 0;
    u64 outer = is_short ? (u64)((u32)k / (u32)c->inner) : k / c->inner;
    return 2 * (group * c->first + outer * c->outer + k - outer * c->inner);
}

kernel block(256) void combine(const f32 *restrict part, f32 *restrict mean_of, f32 *restrict scale_of,
                               f32 *restrict running_mean, f32 *restrict running_variance, struct combine c)
{
    kernel_begin();
    u64 group = (u64)block_x() * 8 + warp();
    if (group >= c.groups)
        return;
    f32 mean = 0, squares = 0, planes = (f32)c.planes, count = planes * c.columns;
    for (u64 k = lane(); k < c.planes; k += 32)
        mean += part[place(&c, group, k)];
    mean = warp_sum(mean) / planes;
    for (u64 k = lane(); k < c.planes; k += 32) {
        u64 at = place(&c, group, k);
        f32 away = part[at] - mean;
        squares += part[at + 1] + c.columns * (away * away);
    }
    squares = warp_sum(squares);
    if (lane() == 0) {
        i64 at_mean = (i64)group * c.running_mean_step, at_variance = (i64)group * c.running_variance_step;
        if (HAS_RUNNING) {
            f32 variance = squares / max(count - 1.0f, 1.0f);
            running_mean[at_mean] = running_mean[at_mean] * (1.0f - c.momentum) + mean * c.momentum;
            running_variance[at_variance] = running_variance[at_variance] * (1.0f - c.momentum) + variance * c.momentum;
        }
        mean_of[(i64)group * c.mean_step] = mean;
        scale_of[(i64)group * c.scale_step] = rsqrt(squares / count + c.eps);
    }
}
