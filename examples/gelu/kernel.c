// out[i] = gelu(x[i]), exact: x/2 * (1 + erf(x / sqrt 2))
#include <kiln/kernel.h>

kernel block(256) void gelu(const f32 *x, f32 *out, u32 n)
{
    u32 i = global_x();
    if (i < n)
        out[i] = 0.5f * x[i] * (1.0f + erf(x[i] * 0.70710678f));
}
