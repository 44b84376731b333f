// Expect K3101 twice: a barrier behind a break that stands two conditions deeper, of warps and of threads.
#include <kiln/kernel.h>

kernel block(128) void warps(const u32 *x, f32 *y, u32 n)
{
    for (u32 r = 0; r < n; r++) {
        if (n > 7) {
            y[1] = 2;
            if (x[r] > 3) {
                y[2] = 3;
                if (warp() == x[r])
                    break;
            }
        }
        barrier();
        y[r] = 1;
    }
}

kernel block(128) void threads(const u32 *x, f32 *y, u32 n)
{
    for (u32 r = 0; r < n; r++) {
        if (n > 7) {
            y[1] = 2;
            if (x[r] > 3) {
                y[2] = 3;
                if (thread_x() == x[r])
                    break;
            }
        }
        barrier();
        y[r] = 1;
    }
}
