// The marks of kernels as directives: ptxas ignores min_blocks without a block, a block alone is no cluster.
#include <kiln/kernel.h>

kernel min_blocks(4) void loose(f32 *x)
{
    x[global_x()] += 1;
}

kernel block(16, 4) min_blocks(4) void fixed(f32 *x)
{
    x[global_x()] += 1;
}

kernel block(64) cluster(target_sm() >= 90 ? 2 : 1) max_registers(32) void pair(f32 *x)
{
    x[global_x()] += (f32)cluster_rank();
}
