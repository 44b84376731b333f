// Expect K3101: a barrier under a condition on warp().
#include <kiln/kernel.h>

kernel block(128) void first_warp(f32 *x)
{
    if (warp() == 0) {
        x[lane()] = 1;
        barrier();
    }
}
