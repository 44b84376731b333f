// K6205: The last block adds up what the others wrote, but nobody fenced.
#include <kiln/kernel.h>

//! run last grid=4 block=32 (f32[4], u32[1], f32[1], f32[128]:iota)
kernel void last(f32 *part, u32 *done, f32 *out, const f32 *x)
{
    shared u32 count;
    f32 sum = block_sum(x[global_x()]);
    if (thread_x() == 0) {
        part[block_x()] = sum;
        count = atomic_add(done, 1u);
    }
    barrier();
    if (count == grid_dim_x() - 1 && thread_x() == 0) {
        f32 total = 0;
        for (u32 i = 0; i < grid_dim_x(); i++)
            total += part[i];
        out[0] = total;
    }
}
