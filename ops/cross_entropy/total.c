// Sum or mean of the losses of all rows: every block adds a part of them, and their weights; a second launch (LAST) adds the
// parts. A single part is the result at once.
#include "row.h"
KERNEL_OVERLAPS

kernel block(256) void cross_entropy_total(const f32 *restrict losses, const TARGET *restrict target, const f32 *restrict weight,
                                           f32 *parts, LOSS *restrict loss, f32 *restrict total, u64 part, struct nest n,
                                           struct options o)
{
    kernel_begin();
    f32 sum = 0, weights = 0;
#ifdef LAST
    for (u64 p = thread_x(); p < part; p += 256) {
        sum += parts[2 * p];
        weights += parts[2 * p + 1];
    }
#else
    u64 end = min(((u64)block_x() + 1) * part, n.packs);
#    pragma unroll 4
    for (u64 row = (u64)block_x() * part + thread_x(); row < end; row += 256) {
        sum += losses[row];
#    ifdef MEAN
        u64 index[8];
        nest_find(&n, RANK, row, index);
        i64 class = (i64)target[nest_place(&n, RANK, index, AT_CLASS)];
        weights += is_ignored(class, &o) ? 0.0f : weight_of(class, weight, &o);
#    endif
    }
#endif
    sum = block_sum(sum);
    weights = block_sum(weights);
    if (thread_x() == 0) {
#ifdef LAST
        bool is_last = true;
#else
        bool is_last = grid_dim_x() == 1;
        parts[2 * block_x()] = sum;
        parts[2 * block_x() + 1] = weights;
#endif
        if (is_last) {
#ifdef MEAN
            sum /= weights;
#endif
            *loss = pack_put(LOSS, sum);
            *total = weights;
        }
    }
}
