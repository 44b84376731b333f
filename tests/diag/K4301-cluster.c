// flags: --target sm_80
// Clusters on a target that has none. A kernel without code for the target, and clusters of one block, are fine.
#include <kiln/kernel.h>

kernel block(32) cluster(2, 2) void pairs(f32 *x)
{
    x[global_x()] = 1;
}

kernel block(32) cluster(2) void newer(f32 *x)
{
    if (target_sm() >= 90)
        x[global_x()] = 1;
}

kernel block(32) cluster(target_sm() >= 90 ? 2 : 1) void either(f32 *x)
{
    x[global_x()] = 1;
}
