// y[i] = a * x[i] + y[i]
//
// Try: kiln run examples/saxpy.c n=1M a=3
// Prints the first values and a checksum of y, and the time.
#include <kiln/kernel.h>

kernel block(256) void saxpy(f32 *y, const f32 *x, f32 a, u32 n)
{
    u32 i = global_x();
    if (i < n)
        y[i] = a * x[i] + y[i];
}
