// K6203: The first block sets its local array; what the second one reads, it has not set.
#include <kiln/kernel.h>

//! run later grid=2 block=32 (u32[1], f32[64])
kernel void later(const u32 *zero, f32 *out)
{
    f32 own[4];
    u32 at = zero[0] & 3;
    if (block_x() == 0)
        own[at] = 2;
    out[global_x()] = own[at];
}
