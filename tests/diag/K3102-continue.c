// Expect K3102: a shuffle after a continue that some lanes take; the barrier after the loop is fine.
#include <kiln/kernel.h>

kernel block(128) void skip(const i32 *x, f32 *y, u32 n)
{
    for (u32 r = 0; r < n; r++) {
        if (x[r * 128 + thread_x()] > 3)
            continue;
        y[r] = shuffle(y[r + thread_x()], 0);
    }
    barrier();
}
