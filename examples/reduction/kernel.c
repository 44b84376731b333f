// total[block] = sum of the elements this block visits; the host adds the few partial sums.
#include <kiln/kernel.h>

kernel block(256) void reduction(const f32 *x, f32 *out, u32 n)
{
    f32 sum = 0;
    u32 step = grid_dim_x() * 256;
    for (u32 i = global_x(); i < n; i += step)
        sum += x[i];
    sum = block_sum(sum);
    if (thread_x() == 0)
        out[block_x()] = sum;
}
