// Expect K3101: a barrier after a break under a condition that each thread loads.
#include <kiln/kernel.h>

kernel block(128) void rounds(const i32 *x, f32 *y, u32 n)
{
    for (u32 r = 0; r < n; r++) {
        if (x[r * 128 + thread_x()] > 3)
            break;
        barrier();
        y[r] = 1;
    }
}
