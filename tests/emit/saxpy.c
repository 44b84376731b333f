// A map: bounds test, 32-bit index, three streams.
#include <kiln/kernel.h>

kernel block(256) void saxpy(const f32 *x, const f32 *y, f32 *out, f32 a, u32 n)
{
    u32 i = global_x();
    if (i < n)
        out[i] = a * x[i] + y[i];
}
