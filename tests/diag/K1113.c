// min_blocks bounds the registers of a thread, which takes the number of threads. A block that an earlier declaration gives counts, too.
#include <kiln/kernel.h>

kernel min_blocks(4) void loose(f32 *x)
{
    x[global_x()] += 1;
}

kernel block(256) void known(f32 *x);
kernel min_blocks(4) void known(f32 *x)
{
    x[global_x()] += 1;
}
